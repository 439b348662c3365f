import { jobOf, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { InvalidArgumentError } from 'commander';
import { UsageError } from '../kit/usage-error.ts';

/** One node of one task. */
export type JobName = { readonly task: TaskId; readonly node: NodeId; readonly id: string };

/** A whole task, or one of its jobs. */
export type Target = { readonly task: TaskId; readonly node?: NodeId };

export const JOB_FORM = '<task>/<node>, such as t-4k2m9x1c7h0a/build';

const parse = (text: string): Target | undefined => {
  const [first = '', second, ...more] = text.split('/');
  const task = TaskId.safeParse(first);
  const node = NodeId.safeParse(second);
  if (!task.success || more.length > 0) return undefined;
  if (second === undefined) return { task: task.data };
  return node.success ? { task: task.data, node: node.data } : undefined;
};

export const asJobName = ({ task, node }: Target): JobName | undefined =>
  node === undefined ? undefined : { task, node, id: jobOf(task, node) };

/** Reads `<task>/<node>`. */
export const jobName = (text: string): JobName => {
  const target = parse(text);
  const name = target && asJobName(target);
  if (name !== undefined) return name;
  throw new InvalidArgumentError(`expected ${JOB_FORM}`);
};

/** Reads `<task>` or `<task>/<node>`. */
export const targetName = (text: string): Target => {
  const target = parse(text);
  if (target !== undefined) return target;
  throw new InvalidArgumentError(`expected <task> or ${JOB_FORM}`);
};

export const nameOf = ({ task, node }: Target): string => (node === undefined ? task : jobOf(task, node));

export type TargetOptions = { readonly run?: TaskId; readonly node?: NodeId };

/** Combines the argument with `--run` and `--node`. Throws `UsageError` unless they name exactly one target. */
export const targetFrom = (argument: Target | undefined, { run, node }: TargetOptions): Target => {
  if (argument !== undefined && run !== undefined)
    throw new UsageError('use either an argument or --run, not both');
  const target = argument ?? (run === undefined ? undefined : { task: run });
  if (target === undefined) throw new UsageError('name a <task> or a <task>/<node>');
  if (node === undefined) return target;
  if (target.node !== undefined) throw new UsageError('use either <task>/<node> or --node, not both');
  return { ...target, node };
};
