import { type Kysely, sql } from 'kysely';

/** Jobs that wait for a person are few among all that ever failed. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE INDEX heads_stuck ON heads (id) WHERE status = 'stuck'`.execute(db);
};
