import { createRuntimeTables } from '@holdpoint/runtime/store/tables';
import { type Kysely, sql } from 'kysely';

export const up = async (db: Kysely<unknown>): Promise<void> => {
  await createRuntimeTables(db);
  await sql`CREATE INDEX heads_of_task ON heads ((view->>'task'))`.execute(db);
};
