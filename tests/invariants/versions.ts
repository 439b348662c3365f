import { type Committed, type Expect, memoryOf } from './invariant.ts';

/** Versions of an aggregate are 1, 2, 3 and so on. */
export const watchVersions = (expect: Expect) => {
  const lastOf = memoryOf(() => ({ version: 0 }));
  return ({ aggregate, version }: Pick<Committed<unknown>, 'aggregate' | 'version'>): void => {
    const last = lastOf(aggregate);
    const expected = last.version + 1;
    expect(
      'versions are gapless',
      version === expected,
      aggregate,
      () => `${aggregate} has version ${String(version)} where ${String(expected)} belongs`,
    );
    last.version = version;
  };
};
