import { createRuntimeTables } from '@holdpoint/runtime/postgres/tables';
import { type Kysely, sql } from 'kysely';

export const up = async (db: Kysely<unknown>): Promise<void> => {
  await createRuntimeTables(db);
  await sql`CREATE TABLE tasks (
    id text PRIMARY KEY,
    workflow text NOT NULL,
    goal text NOT NULL,
    phase text NOT NULL,
    version int NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
  ) WITH (fillfactor = 80)`.execute(db);
  await sql`CREATE INDEX tasks_latest ON tasks (created_at DESC, id DESC)`.execute(db);
};
