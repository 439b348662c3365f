import { createRuntimeTables } from '@holdpoint/runtime/postgres/tables';
import { type Kysely, sql } from 'kysely';

export const up = async (db: Kysely<unknown>): Promise<void> => {
  await createRuntimeTables(db);
  await sql`CREATE TABLE requests (
    id text PRIMARY KEY,
    status text NOT NULL,
    requested_at bigint NOT NULL,
    view json NOT NULL
  ) WITH (fillfactor = 80)`.execute(db);
  await sql`CREATE INDEX requests_by_age ON requests (status, requested_at, id)`.execute(db);
};
