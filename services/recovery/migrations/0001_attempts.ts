import { createRuntimeTables } from '@holdpoint/runtime/store/tables';
import type { Kysely } from 'kysely';

export const up = async (db: Kysely<unknown>): Promise<void> => {
  await createRuntimeTables(db);
};
