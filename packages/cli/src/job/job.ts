import { isEndPhase } from '@holdpoint/contracts/task/status';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { jobOf, type TaskId } from '@holdpoint/contracts/values/ids';
import type { NodeView, TaskView } from '@holdpoint/contracts/task/views';
import type { Client } from '../bus/client.ts';
import { asJobName, type JobName, type Target } from './target.ts';

export type Job = {
  readonly id: string;
  readonly run: TaskView;
  readonly node: NodeView;
  /** Submission time of the task, if known. Epoch milliseconds. */
  readonly createdAt?: number | undefined;
};

export const jobsOf = (run: TaskView, createdAt?: number): readonly Job[] =>
  run.nodes.map((node) => ({ id: jobOf(run.id, node.id), run, node, createdAt }));

/** Nothing of the task happens without a retry. */
export const hasEnded = ({ phase }: Pick<TaskView, 'phase'>): boolean => isEndPhase(phase);

/** Dependencies in the graph; for entry jobs, also those of the task. */
export const comesAfter = ({ run, node }: Job): readonly string[] => [
  ...node.after.map((other) => jobOf(run.id, other)),
  ...(run.entries.includes(node.id) ? (run.after ?? []) : []),
];

export const loadTask = (client: Client, id: TaskId): Promise<TaskView> =>
  client.call('orchestrator', 'get', { id });

export const loadJob = async (client: Client, { task, node, id }: JobName): Promise<Job> => {
  const run = await loadTask(client, task);
  const found = jobsOf(run).find((job) => job.node.id === node);
  if (found === undefined)
    throw new HoldpointError('ORCHESTRATOR_UNKNOWN_NODE', `no job ${id}: task ${task} has no node ${node}`);
  return found;
};

/** The job, or all jobs of the task. */
export const loadTarget = async (client: Client, target: Target): Promise<readonly Job[]> => {
  const name = asJobName(target);
  if (name !== undefined) return [await loadJob(client, name)];
  const jobs = jobsOf(await loadTask(client, target.task));
  if (jobs.length === 0)
    throw new HoldpointError('ORCHESTRATOR_UNKNOWN_NODE', `task ${target.task} has no jobs`);
  return jobs;
};
