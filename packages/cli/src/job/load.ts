import type { TaskSummary } from '@holdpoint/contracts/task/queries';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Client } from '../bus/client.ts';
import { type Job, jobsOf, loadTask } from './job.ts';

const PAGE = 100;
const AT_ONCE = 8;

export type JobPage = {
  /** Newest task first; jobs in the order of the definition. */
  readonly jobs: readonly Job[];
  /** There are older tasks. */
  readonly more: boolean;
  /** Tasks that could not be loaded, with the reason. The others are still listed. */
  readonly problems: readonly string[];
};

const listRuns = async (client: Client, limit: number): Promise<readonly TaskSummary[]> => {
  const runs: TaskSummary[] = [];
  for (let after: string | undefined; ;) {
    const page = { limit: Math.min(PAGE, limit + 1 - runs.length), ...(after !== undefined && { after }) };
    const { items, next } = await client.call('orchestrator', 'list', page);
    runs.push(...items);
    if (next === undefined || items.length === 0 || runs.length > limit) return runs;
    after = next;
  }
};

type TaskResult = { readonly jobs: readonly Job[] } | { readonly problem: string };

const show = async (client: Client, { id, createdAt }: TaskSummary): Promise<TaskResult> => {
  try {
    return { jobs: jobsOf(await loadTask(client, id), createdAt) };
  } catch (error) {
    if (!(error instanceof HoldpointError)) throw error;
    return { problem: `task ${id} left out: ${error.code}: ${error.message}` };
  }
};

export const loadJobs = async (client: Client, limit: number): Promise<JobPage> => {
  const listed = await listRuns(client, limit);
  const shown: TaskResult[] = [];
  for (let i = 0; i < Math.min(listed.length, limit); i += AT_ONCE) {
    const some = listed.slice(i, Math.min(i + AT_ONCE, limit));
    shown.push(...(await Promise.all(some.map((summary) => show(client, summary)))));
  }
  return {
    jobs: shown.flatMap((each) => ('jobs' in each ? each.jobs : [])),
    more: listed.length > limit,
    problems: shown.flatMap((each) => ('problem' in each ? [each.problem] : [])),
  };
};
