import { changeFinal } from '@holdpoint/runtime/store/retention';
import type { Kysely } from 'kysely';

/** A question about a doubt is over once it is answered. */
export const up = (db: Kysely<unknown>): Promise<void> =>
  changeFinal(db, [
    'approved',
    'rejected',
    'changes_requested',
    'answered',
    'expired',
    'cancelled',
    'withdrawn',
  ]);
