import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { PEOPLE_ID } from '@holdpoint/contracts/values/ids';
import { isAway } from '@holdpoint/runtime/store/errors';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { People, StoredPerson } from '../../people/people.ts';

/** Interval of reads; each stored token reads at once what it depends on. */
const READ_EVERY_MS = 5_000;

// The decider of people wrote this view.
const Row = z.object({
  version: z.int(),
  view: z.custom<People>((view) => typeof view === 'object' && view !== null),
});

export type StoredPeople = {
  readonly current: () => readonly StoredPerson[];
  /** Throws `RUNTIME_UNAVAILABLE`. */
  readonly refresh: () => Promise<void>;
  readonly catchUp: (version: number) => Promise<void>;
  readonly stop: () => Promise<void>;
};

/** The people of the store, as the latest read has them. */
export const followStoredPeople = (pool: Pool, log: Logger): StoredPeople => {
  let version = 0;
  let people: readonly StoredPerson[] = [];

  const refresh = async (): Promise<void> => {
    try {
      const { rows } = await pool.query({
        name: 'hp_people',
        text: 'SELECT version, view FROM heads WHERE id = $1',
        values: [PEOPLE_ID],
      });
      const [row] = z.array(Row).parse(rows);
      // Another read may have been faster.
      if (row === undefined || row.version <= version) return;
      version = row.version;
      people = row.view.people;
    } catch (cause) {
      if (!isAway(cause)) throw cause;
      throw new HoldpointError('RUNTIME_UNAVAILABLE', 'the store does not answer; try again', { cause });
    }
  };
  const periodic = startPeriodic('people', READ_EVERY_MS, refresh, log);

  return {
    current: () => people,
    refresh,
    catchUp: async (wanted) => {
      if (wanted > version) await refresh();
    },
    stop: periodic.stop,
  };
};
