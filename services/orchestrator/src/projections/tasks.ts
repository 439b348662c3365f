import type { TaskSummary } from '@holdpoint/contracts/catalog';
import type { TaskId } from '@holdpoint/contracts/ids';
import { TaskPhase } from '@holdpoint/contracts/task';
import type { Summary } from '@holdpoint/runtime/ports';
import { decodeCursor, pageOf } from '@holdpoint/runtime/postgres/page';
import type { Pool } from 'pg';
import { z } from 'zod';
import { isProgram, type Program } from '@holdpoint/programs/state';
import type { OrchestratorState } from '../domain/orchestrator.ts';
import type { Task } from '../domain/state.ts';

/** Longer goals are cut in lists; the task itself has all of it. */
const GOAL_SHOWN_MAX = 200;

const workflowOf = (state: Task | Program): string => {
  const { id, version } = isProgram(state) ? state.program : state.definition;
  return `${id}@${version}`;
};

/** What lists show of a task. A board is in no list. */
export const summarise = (state: OrchestratorState): Summary =>
  state.phase === 'absent' || state.phase === 'board'
    ? { status: state.phase, view: null }
    : {
        status: state.phase,
        view: {
          workflow: workflowOf(state),
          goal: state.goal.slice(0, GOAL_SHOWN_MAX).toWellFormed(),
        },
      };

const Row = z.object({
  id: z.string().transform((id) => id as TaskId),
  phase: TaskPhase,
  version: z.int(),
  createdAt: z.coerce.number(),
  view: z.object({ workflow: z.string(), goal: z.string() }),
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
    `SELECT id, status AS phase, version, created_at AS "createdAt", view FROM heads
      WHERE status <> 'board' AND ($1::text IS NULL OR status = $1) AND ($2::bigint IS NULL OR (created_at, id) < ($2, $3))
      ORDER BY created_at DESC, id DESC LIMIT $4`,
    [phase ?? null, from?.at ?? null, from?.id ?? null, limit + 1],
  );
  const page = pageOf(z.array(Row).parse(rows), limit, ({ createdAt, id }) => ({ at: createdAt, id }));
  const items = page.rows.map(({ view, ...head }) => ({ ...head, ...view }));
  return { items, ...(page.next !== undefined && { next: page.next }) };
};

/** Tasks that wait for a circuit to close, the oldest first. */
export const tasksHeldUp = async (pool: Pool, limit: number): Promise<readonly TaskId[]> => {
  const { rows } = await pool.query<{ id: TaskId }>(
    `SELECT id FROM heads WHERE status = 'circuit_open' ORDER BY created_at LIMIT $1`,
    [limit],
  );
  return rows.map(({ id }) => id);
};
