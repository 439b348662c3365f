import { createRetention, unlessTaskNeedsIt } from '@holdpoint/runtime/store/retention';
import type { Kysely } from 'kysely';

/**
 * A doubt that waits for a person is among them: the task that has ended was its question, and whoever ended it has
 * answered. One that is to be repeated has a timer, and stays.
 */
export const up = (db: Kysely<unknown>): Promise<void> =>
  createRetention(db, {
    final: ['applied', 'failed_clean', 'in_doubt', 'cancelled', 'refused'],
    unless: unlessTaskNeedsIt(),
  });
