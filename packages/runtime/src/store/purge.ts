import type { Pool } from 'pg';
import { z } from 'zod';

/** Aggregates per transaction: bounds how long their rows are locked. */
const BATCH = 250;

const Row = z.object({ purged: z.int() });

/** Removes aggregates whose retention is over. */
export const createPurge = (pool: Pool) => {
  let over = false;
  return {
    /** Purges batch by batch until nothing is due. Returns how many aggregates were purged. */
    run: async (): Promise<number> => {
      for (let total = 0; ;) {
        const { rows } = await pool.query({
          name: 'hp_purge',
          text: 'SELECT purge($1) AS purged',
          values: [BATCH],
        });
        const { purged } = Row.parse(rows[0]);
        total += purged;
        if (purged < BATCH || over) return total;
      }
    },
    /** Ends a run after the current batch. */
    stop: (): void => {
      over = true;
    },
  };
};
