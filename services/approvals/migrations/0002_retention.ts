import { createRetention, unlessTaskNeedsIt } from '@holdpoint/runtime/store/retention';
import type { Kysely } from 'kysely';

export const up = (db: Kysely<unknown>): Promise<void> =>
  createRetention(db, {
    final: ['approved', 'rejected', 'changes_requested', 'expired', 'cancelled', 'withdrawn'],
    unless: unlessTaskNeedsIt(),
  });
