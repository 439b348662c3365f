import { createRetention, unlessTaskNeedsIt } from '@holdpoint/runtime/postgres/retention';
import type { Kysely } from 'kysely';

export const up = (db: Kysely<unknown>): Promise<void> =>
  createRetention(db, {
    final: ['approved', 'rejected', 'changes_requested', 'expired', 'cancelled', 'withdrawn'],
    unless: unlessTaskNeedsIt(),
  });
