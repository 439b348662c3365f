import type { TaskSummary } from '@holdpoint/contracts/catalog';
import type { TaskId } from '@holdpoint/contracts/ids';
import { TaskPhase } from '@holdpoint/contracts/task';
import type { ProjectionRow } from '@holdpoint/runtime/ports';
import { decodeCursor, pageOf } from '@holdpoint/runtime/postgres/page';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { TaskState } from '../domain/state.ts';

/** Longer goals are cut in lists; the task itself has all of it. */
const GOAL_SHOWN_MAX = 200;

export const taskRow = (id: string, state: TaskState, now: number): ProjectionRow | undefined =>
  state.phase === 'absent'
    ? undefined
    : {
        id,
        workflow: `${state.definition.id}@${String(state.definition.version)}`,
        // A character that the cut would halve is replaced: no store takes half of one.
        goal: state.goal.slice(0, GOAL_SHOWN_MAX).toWellFormed(),
        phase: state.phase,
        version: state.version,
        at: now,
      };

/** Upserts the rows of a batch from the JSON array in `$9`. */
export const tasksProjection = `INSERT INTO tasks (id, workflow, goal, phase, version, created_at, updated_at)
    SELECT id, workflow, goal, phase, version, at, at
      FROM json_to_recordset($9::json) AS t(id text, workflow text, goal text, phase text, version int, at bigint)
    ON CONFLICT (id) DO UPDATE SET phase = excluded.phase, version = excluded.version, updated_at = excluded.updated_at`;

const Row = z.object({
  id: z.string().transform((id) => id as TaskId),
  workflow: z.string(),
  goal: z.string(),
  phase: TaskPhase,
  version: z.int(),
  createdAt: z.coerce.number(),
  updatedAt: z.coerce.number(),
});

/** Tasks, latest submission first. */
export const listTasks = async (
  pool: Pool,
  {
    limit,
    after,
    phase,
  }: { readonly limit: number; readonly after?: string | undefined; readonly phase?: TaskPhase | undefined },
): Promise<{ items: TaskSummary[]; next?: string }> => {
  const from = after === undefined ? undefined : decodeCursor(after);
  const { rows } = await pool.query(
    `SELECT id, workflow, goal, phase, version, created_at AS "createdAt", updated_at AS "updatedAt" FROM tasks
      WHERE ($1::text IS NULL OR phase = $1) AND ($2::bigint IS NULL OR (created_at, id) < ($2, $3))
      ORDER BY created_at DESC, id DESC LIMIT $4`,
    [phase ?? null, from?.at ?? null, from?.id ?? null, limit + 1],
  );
  const page = pageOf(z.array(Row).parse(rows), limit, ({ createdAt, id }) => ({ at: createdAt, id }));
  const items = page.rows.map(({ createdAt: _, ...summary }) => summary);
  return { items, ...(page.next !== undefined && { next: page.next }) };
};
