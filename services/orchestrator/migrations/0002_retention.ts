import { createRetention, tokenIn } from '@holdpoint/runtime/store/retention';
import { type Kysely, sql } from 'kysely';

/** A task is purged last, so that nothing remains under an id that may be used again. */
const unless = sql`(
  EXISTS (SELECT FROM recovery.heads r WHERE r.id = h.id)
  OR EXISTS (
    SELECT FROM events e
     WHERE e.aggregate = h.id AND e.type IN ('approval_requested', 'step_ordered')
       AND (EXISTS (SELECT FROM approvals.heads a WHERE a.id = ${tokenIn('approval')})
         OR EXISTS (SELECT FROM executor.heads x WHERE x.id = ${tokenIn('effectId')}))))`;

export const up = (db: Kysely<unknown>): Promise<void> =>
  createRetention(db, { final: ['completed', 'failed', 'cancelled', 'tombstone'], unless });
