import type { Pool } from 'pg';
import { z } from 'zod';

/** Aggregates in one transaction: bounds how long their rows are locked. */
const BATCH = 250;

const Row = z.object({ retired: z.int() });

/** Removes what ended longer ago than the schema keeps it. */
export const createPurge = (pool: Pool) => {
  let over = false;
  return {
    /** A batch at a time, until nothing is left that may go. Returns how many aggregates went. */
    run: async (): Promise<number> => {
      for (let total = 0; ;) {
        const { rows } = await pool.query({
          name: 'hp_retire',
          text: 'SELECT retire($1) AS retired',
          values: [BATCH],
        });
        const { retired } = Row.parse(rows[0]);
        total += retired;
        if (retired < BATCH || over) return total;
      }
    },
    /** Ends a run after the batch in hand. */
    stop: (): void => {
      over = true;
    },
  };
};
