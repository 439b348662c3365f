import { changeFinal } from '@holdpoint/runtime/store/retention';
import type { Kysely } from 'kysely';

/** What is known not to have happened is over, as what failed is, unless it is ordered again. */
export const up = (db: Kysely<unknown>): Promise<void> =>
  changeFinal(db, ['applied', 'failed_clean', 'not_applied', 'in_doubt', 'cancelled', 'refused']);
