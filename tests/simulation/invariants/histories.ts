import { AGGREGATES, type ServiceName } from '@holdpoint/contracts/subjects';
import type { Head, Summary, StoredEvent } from '@holdpoint/runtime/ports';
import type { Judge } from '../judge.ts';

/** Versions count on from what is stored, without a gap. Called before the events are added to the books. */
export const checkVersions = (
  judge: Judge,
  service: ServiceName,
  events: readonly StoredEvent[],
  versionOf: (aggregate: string) => number,
): void => {
  const next = new Map<string, number>();
  for (const { aggregate, version } of events) {
    const expected = next.get(aggregate) ?? versionOf(aggregate) + 1;
    judge.expect(
      'versions are gapless',
      version === expected,
      aggregate,
      () =>
        `${AGGREGATES[service]} ${aggregate} has version ${String(version)} after ${String(expected - 1)}`,
    );
    next.set(aggregate, version + 1);
  }
};

/** What the engine shows of an aggregate is what follows from the events that are stored. */
export const checkHead = (judge: Judge, head: Head, version: number, replayed: Summary): void => {
  const same =
    head.version === version &&
    head.status === replayed.status &&
    JSON.stringify(head.view) === JSON.stringify(replayed.view);
  judge.expect(
    'state equals replay',
    same,
    head.aggregate,
    () =>
      `${JSON.stringify(head)} is shown, ${JSON.stringify({ version, ...replayed })} follows from the events`,
  );
};
