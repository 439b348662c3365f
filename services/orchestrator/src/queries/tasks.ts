import type { ListTasks, TaskSummary } from '@holdpoint/contracts/task/queries';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import { TaskPhase } from '@holdpoint/contracts/task/status';
import type { Listing } from '@holdpoint/runtime/engine/kinds';
import type { ListRow, Summary } from '@holdpoint/runtime/engine/ports';
import { decodeCursor, encodeCursor } from '@holdpoint/runtime/store/page';
import { searchable } from '@holdpoint/runtime/store/search-words';
import type { ListTable } from '@holdpoint/runtime/store/write-statement';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { ProgramState } from '@holdpoint/programs/state';
import type { RegistryState } from '../registry/state.ts';
import type { TaskState } from '../task/model/state.ts';
import { type Filter, flowOf, startOf } from './task-filter.ts';
import { BOUNDS, type Bounds, taskPlaces } from './task-cursor.ts';

/** Lists cut longer goals. */
const GOAL_SHOWN_MAX = 200;

type Shown = { readonly id: string; readonly version: string };
const named = ({ id, version }: Shown): string => `${id}@${version}`;

const summaryOf = (status: string, goal: string, shown: Shown): Summary => ({
  status,
  view: { workflow: named(shown), goal: goal.slice(0, GOAL_SHOWN_MAX).toWellFormed() },
});

export const taskSummary = (state: TaskState): Summary =>
  state.phase === 'absent'
    ? { status: state.tombstone ? 'tombstone' : 'absent', view: null }
    : summaryOf(state.phase, state.goal, state.definition);

export const programSummary = (state: ProgramState): Summary =>
  state.phase === 'absent'
    ? { status: 'absent', view: null }
    : summaryOf(state.phase, state.goal, state.program);

/** Fields for the filters of task lists. The phase changes often, so it stays in `heads`. */
export const LISTED: ListTable = {
  name: 'listed',
  columns: { flow: 'text', workflow: 'text', requester: 'text', words: 'words' },
};

/** Longer goals are searched by their beginning. */
const GOAL_SEARCHED_MAX = 4_000;

export type ListedTask = {
  readonly workflow: string;
  readonly goal: string;
  readonly requestedBy?: string | undefined;
};

export const taskRow = (id: string, { workflow, goal, requestedBy = '' }: ListedTask): ListRow => ({
  id,
  flow: flowOf(workflow),
  workflow,
  requester: requestedBy,
  words: searchable(goal.slice(0, GOAL_SEARCHED_MAX), id, workflow),
});

/** The row of a task stays the same from its submission to its purge. */
const reasonOf = ({ phase }: TaskState | ProgramState): unknown =>
  phase === 'absent' ? undefined : 'submitted';

export const taskListing: Listing<TaskState> = {
  reasonOf,
  rowsOf: (id, state) =>
    state.phase === 'absent' ? [] : [taskRow(id, { ...state, workflow: named(state.definition) })],
};

export const programListing: Listing<ProgramState> = {
  reasonOf,
  rowsOf: (id, state) =>
    state.phase === 'absent' ? [] : [taskRow(id, { ...state, workflow: named(state.program) })],
};

/** No list shows a registry. */
export const registrySummary = (_state: RegistryState): Summary => ({ status: 'registry', view: null });

const Row = z.object({
  id: z.string().transform((id) => id as TaskId),
  phase: TaskPhase,
  version: z.int(),
  createdAt: z.coerce.number(),
  finishedAt: z.coerce.number().nullable(),
  view: z.object({ workflow: z.string(), goal: z.string() }),
  requestedBy: z.string().nullable(),
});

/** Current summaries of the tasks that still exist, in the given order. */
const summariesOf = async (pool: Pool, ids: readonly string[]): Promise<TaskSummary[]> => {
  const { rows } = await pool.query({
    name: 'hp_tasks_listed',
    text: `SELECT h.id, h.status AS phase, h.version, h.created_at AS "createdAt", h.view,
                  (extract(epoch FROM h.finished_at) * 1000)::bigint AS "finishedAt",
                  nullif(l.requester, '') AS "requestedBy"
             FROM unnest($1::text[]) WITH ORDINALITY AS w(id, place)
             JOIN heads h ON h.id = w.id LEFT JOIN listed l ON l.id = h.id ORDER BY w.place`,
    values: [ids],
  });
  return z
    .array(Row)
    .parse(rows)
    .map(({ view, requestedBy, finishedAt, ...head }) => ({
      ...head,
      ...view,
      ...(finishedAt !== null && { finishedAt }),
      ...(requestedBy !== null && { requestedBy }),
    }));
};

/** PostgreSQL text cannot contain this character, so such a filter matches nothing. */
const isNowhere = ({ workflow = '', requestedBy = '' }: Filter): boolean =>
  `${workflow}${requestedBy}`.includes('\0');

/** Tasks, latest submission first. */
export const listTasks = async (
  pool: Pool,
  { limit, after, ...filter }: ListTasks,
  bounds: Bounds = BOUNDS,
): Promise<{ items: TaskSummary[]; next?: string }> => {
  const from = startOf(after === undefined ? undefined : decodeCursor(after), filter);
  if (isNowhere(filter)) return { items: [] };
  const { places, next } = await taskPlaces(pool, filter, { limit, from }, bounds);
  const items =
    places.length === 0
      ? []
      : await summariesOf(
          pool,
          places.map(({ id }) => id),
        );
  return { items, ...(next && { next: encodeCursor(next) }) };
};

/** Tasks that wait for a circuit, oldest first. */
export const tasksHeldUp = async (pool: Pool, limit: number): Promise<readonly TaskId[]> => {
  const { rows } = await pool.query<{ id: TaskId }>(
    `SELECT id FROM heads WHERE status = 'circuit_open' ORDER BY created_at LIMIT $1`,
    [limit],
  );
  return rows.map(({ id }) => id);
};
