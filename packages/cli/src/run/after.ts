import { hasCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { jobOf, type TaskId, TaskId as TaskIdSchema } from '@holdpoint/contracts/values/ids';
import { JobReference } from '@holdpoint/contracts/task/commands';
import type { TaskView } from '@holdpoint/contracts/task/views';
import type { Client } from '../bus/client.ts';
import { Refusal } from '../kit/refusal.ts';

/** Limit of one submission. */
const AFTER_MAX = 200;
const RUN_PREFIX = 'run:';

const refuse = (reference: string, found: string, expected: string): never => {
  throw new Refusal('CLI_AFTER', `--after ${reference}: found ${found}; expected ${expected}`);
};

const FORMS = '<task>/<node>, <task>, or run:<task> for its last jobs';

const taskOf = (reference: string): TaskId => {
  const name = reference.startsWith(RUN_PREFIX) ? reference.slice(RUN_PREFIX.length) : reference;
  const task = TaskIdSchema.safeParse(name.split('/', 1)[0]);
  const valid = reference.startsWith(RUN_PREFIX) ? !name.includes('/') : JobReference.safeParse(name).success;
  return task.success && valid ? task.data : refuse(reference, 'neither a task nor a job', FORMS);
};

const hintFor = (reference: string): string =>
  /^run[_-]/.test(reference) ? ` (for the last jobs of a task, write run:${reference})` : '';

const load = async (client: Client, reference: string): Promise<TaskView> => {
  const id = taskOf(reference);
  try {
    return await client.call('orchestrator', 'get', { id });
  } catch (error) {
    if (!hasCode(error, 'ORCHESTRATOR_UNKNOWN_TASK')) throw error;
    const message = `--after ${reference}: no task ${id}${hintFor(reference)}`;
    throw new HoldpointError(error.code, message, { cause: error });
  }
};

export const sinkJobs = ({ id, sinks }: TaskView): readonly string[] => sinks.map((sink) => jobOf(id, sink));

const expand = (reference: string, run: TaskView): readonly string[] => {
  if (reference.startsWith(RUN_PREFIX)) {
    if (run.sinks.length > 0) return sinkJobs(run);
    return refuse(reference, 'a task whose jobs form a cycle', 'a task with last jobs');
  }
  const [, node] = reference.split('/');
  if (node === undefined || run.nodes.some(({ id }) => id === node)) return [reference];
  throw new HoldpointError(
    'ORCHESTRATOR_UNKNOWN_NODE',
    `--after ${reference}: task ${run.id} has no node ${node}`,
  );
};

export const checkAfter = (jobs: readonly string[]): readonly string[] => {
  const unique = [...new Set(jobs)];
  if (unique.length <= AFTER_MAX) return unique;
  throw new Refusal(
    'CLI_AFTER',
    `--after names ${String(unique.length)} jobs; at most ${String(AFTER_MAX)} are allowed`,
  );
};

/** The referenced jobs in order. All are checked before anything is submitted. */
export const resolveAfter = async (
  client: Client,
  references: readonly string[],
): Promise<readonly string[]> => {
  const jobs: string[] = [];
  for (const reference of references) jobs.push(...expand(reference, await load(client, reference)));
  return checkAfter(jobs);
};
