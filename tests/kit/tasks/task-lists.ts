import type { ApiRequest } from '@holdpoint/contracts/catalog/api';
import type { TaskSummary } from '@holdpoint/contracts/task/queries';
import { ListTasks } from '@holdpoint/contracts/task/queries';
import type { TaskPhase } from '@holdpoint/contracts/task/status';
import { roleOf } from '@holdpoint/infra/credentials/layout';
import { readPostgresPassword } from '@holdpoint/infra/credentials/read';
import type { Bounds } from '@holdpoint/orchestrator/queries/task-cursor';
import { listTasks, taskRow } from '@holdpoint/orchestrator/queries/tasks';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { createPool } from '@holdpoint/runtime/store/pool';
import type { Pool } from 'pg';
import type { Database } from '../stack/databases.ts';
import { currentRun } from '../stack/run.ts';

/** Connections like those of the orchestrator. */
export const orchestratorPool = async ({ admin, name }: Database, max = 4): Promise<Pool> => {
  const role = roleOf('orchestrator');
  const password = await readPostgresPassword(currentRun().credentialsDir, role);
  const url = `postgres://${role}@${admin.host}:${String(admin.port)}/${name}`;
  return createPool({ url, password, schema: 'orchestrator', name: 'holdpoint-test', max }, silentLogger());
};

export type KeptTask = {
  readonly id: string;
  readonly phase: TaskPhase;
  readonly workflow: string;
  readonly goal: string;
  readonly requestedBy: string;
  readonly createdAt: number;
};

/** Inserts tasks as the service does: their first events and their heads in one statement. */
export const keepTasks = async (pool: Pool, tasks: readonly KeptTask[]): Promise<void> => {
  await pool.query(
    `WITH tasks AS (
       SELECT * FROM json_to_recordset($1::json)
         AS t(id text, phase text, workflow text, goal text, "requestedBy" text, "createdAt" bigint, flow text, words text)),
     added AS (
       INSERT INTO event_runs (aggregate, first, at, events)
       SELECT id, 1, to_timestamp("createdAt" / 1000.0),
              json_build_array(json_build_object('type', 'submitted', 'goal', goal, 'requestedBy', "requestedBy")) FROM tasks),
     listed AS (
       INSERT INTO listed (id, created_at, flow, workflow, requester, words)
       SELECT id, "createdAt", flow, workflow, "requestedBy", array_to_tsvector(string_to_array(lower(words), ' ')) FROM tasks)
     INSERT INTO heads (id, kind, version, status, created_at, view)
     SELECT id, 'task', 1, phase, "createdAt", json_build_object('workflow', workflow, 'goal', left(goal, 200)) FROM tasks`,
    [JSON.stringify(tasks.map((task) => ({ ...taskRow(task.id, task), ...task })))],
  );
};

/** All items of a list, page by page, and the number of pages. */
export const listAllTasks = async (
  pool: Pool,
  asked: ApiRequest<'orchestrator', 'list'>,
  bounds?: Bounds,
): Promise<{ readonly items: readonly TaskSummary[]; readonly pages: number }> => {
  const items: TaskSummary[] = [];
  let after: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const page = await listTasks(pool, ListTasks.parse({ ...asked, after }), bounds);
    items.push(...page.items);
    after = page.next;
    if (after === undefined) return { items, pages };
  }
};
