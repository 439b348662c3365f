import { createRuntimeTables } from '@holdpoint/runtime/postgres/tables';
import type { Kysely } from 'kysely';

export const up = async (db: Kysely<unknown>): Promise<void> => {
  await createRuntimeTables(db);
};
