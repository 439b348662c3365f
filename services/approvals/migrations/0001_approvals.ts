import { createRuntimeTables } from '@holdpoint/runtime/store/tables';
import { type Kysely, sql } from 'kysely';

export const up = async (db: Kysely<unknown>): Promise<void> => {
  await createRuntimeTables(db);
  await sql`CREATE INDEX heads_by_age ON heads (status, created_at, id)`.execute(db);
};
