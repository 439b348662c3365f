import { createRetention, unlessTaskNeedsIt } from '@holdpoint/runtime/store/retention';
import { type Kysely, sql } from 'kysely';

/** What failed in a task never ends by itself: it goes with its task, whose id it has. */
export const up = (db: Kysely<unknown>): Promise<void> =>
  createRetention(db, { final: ['assessed'], unless: unlessTaskNeedsIt(sql`h.id`) });
