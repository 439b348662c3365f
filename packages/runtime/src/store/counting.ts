import { type Kysely, sql } from 'kysely';

/**
 * Lets what has not ended be counted, however much has. Of its columns only the end of an aggregate changes, which other
 * indexes have as well: updates before it stay heap-only.
 */
export const createCounting = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE INDEX heads_open ON heads (created_at) WHERE finished_at IS NULL`.execute(db);
};
