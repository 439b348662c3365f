import { jobOf, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { InvalidArgumentError } from 'commander';

/** A job as a user names it: one node of one run. */
export type JobName = { readonly task: TaskId; readonly node: NodeId; readonly id: string };

export const JOB_FORM = '<run>/<node>, such as t-4k2m9x1c7h0a/build';

/** Reads `<run>/<node>`. */
export const jobName = (text: string): JobName => {
  const [run = '', name, ...more] = text.split('/');
  const task = TaskId.safeParse(run);
  const node = NodeId.safeParse(name);
  if (task.success && node.success && more.length === 0)
    return { task: task.data, node: node.data, id: jobOf(task.data, node.data) };
  const hint = task.success && name === undefined ? `; for the whole run, --run ${task.data}` : '';
  throw new InvalidArgumentError(`a job is ${JOB_FORM}${hint}`);
};
