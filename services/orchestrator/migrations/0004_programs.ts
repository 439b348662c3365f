import { createRetire, tokenIn } from '@holdpoint/runtime/store/retention';
import { type Kysely, sql } from 'kysely';

/** The previous rule, plus the requests of programs. */
const unless = sql`(
  EXISTS (SELECT FROM recovery.heads r WHERE r.id = h.id)
  OR EXISTS (
    SELECT FROM events e
     WHERE e.aggregate = h.id AND e.type IN ('approval_requested', 'step_ordered', 'input_requested')
       AND (EXISTS (SELECT FROM approvals.heads a WHERE a.id = ${tokenIn('approval')})
         OR EXISTS (SELECT FROM executor.heads x WHERE x.id = ${tokenIn('effectId')}))))`;

/** Registered program versions. Rows are never deleted. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE programs (
    hash text PRIMARY KEY,
    id text NOT NULL,
    version text NOT NULL,
    definition jsonb NOT NULL,
    place bigint GENERATED ALWAYS AS IDENTITY,
    registered_at timestamptz NOT NULL DEFAULT now()
  )`.execute(db);
  await sql`CREATE UNIQUE INDEX programs_place ON programs (place)`.execute(db);
  await createRetire(db, unless);
};
