import { createRuntimeTables } from '@holdpoint/runtime/store/tables';
import { type Kysely, sql } from 'kysely';

export const up = async (db: Kysely<unknown>): Promise<void> => {
  await createRuntimeTables(db);
  await sql`CREATE INDEX heads_latest ON heads (created_at DESC, id DESC)`.execute(db);
};
