import { createRuntimeTables } from '@holdpoint/runtime/postgres/tables';
import { type Kysely, sql } from 'kysely';

export const up = async (db: Kysely<unknown>): Promise<void> => {
  await createRuntimeTables(db);
  await sql`CREATE TABLE effects (
    id text PRIMARY KEY,
    task text NOT NULL,
    state text NOT NULL,
    view json NOT NULL
  ) WITH (fillfactor = 80)`.execute(db);
  await sql`CREATE INDEX effects_of_task ON effects (task)`.execute(db);
};
