import { isDeepStrictEqual } from 'node:util';
import type { BatchWrite, Head, ListRow, Summary } from '@holdpoint/runtime/engine/ports';
import type { Book } from '../event-states.ts';
import type { Checker } from '../checker.ts';

/** The stored read model follows from the stored events. */
export const checkHead = (checker: Checker, head: Head, version: number, replayed: Summary): void => {
  const same =
    head.version === version &&
    head.status === replayed.status &&
    JSON.stringify(head.view) === JSON.stringify(replayed.view);
  checker.expect(
    'the read model equals the replayed events',
    same,
    head.aggregate,
    () =>
      `${JSON.stringify(head)} is shown, ${JSON.stringify({ version, ...replayed })} follows from the events`,
  );
};

/** The rows of lists follow from the stored events. `stored`: those of the same version. */
export const checkRows = (
  checker: Checker,
  aggregate: string,
  stored: readonly ListRow[],
  replayed: readonly ListRow[],
): void =>
  checker.expect(
    'the rows of lists equal the replayed events',
    isDeepStrictEqual(stored, replayed),
    aggregate,
    () => `${JSON.stringify(stored)} is listed, ${JSON.stringify(replayed)} follows from the events`,
  );

export const checkSnapshots = (
  checker: Checker,
  { snapshots }: Pick<BatchWrite, 'snapshots'>,
  book: Pick<Book<unknown, never>, 'stateOf' | 'versionOf'>,
): void => {
  for (const { aggregate, version, state } of snapshots) {
    if (version !== book.versionOf(aggregate)) continue;
    const replayed = book.stateOf(aggregate);
    checker.expect(
      'a snapshot equals the replayed events',
      // Undefined fields do not survive storage.
      isDeepStrictEqual(JSON.parse(state), JSON.parse(JSON.stringify(replayed))),
      aggregate,
      () => `${state} is stored, ${JSON.stringify(replayed)} follows from the events`,
    );
  }
};
