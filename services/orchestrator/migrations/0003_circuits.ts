import { type Kysely, sql } from 'kysely';

/** Tasks that wait for a circuit are looked up when it closes. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE INDEX heads_held ON heads (created_at) WHERE status = 'circuit_open'`.execute(db);
};
