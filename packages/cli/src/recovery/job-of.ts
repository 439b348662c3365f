import { jobOf, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { InvalidArgumentError } from 'commander';

/** A whole task, or one job of it. */
export type Subject = { readonly task: TaskId; readonly node?: NodeId };

/** Reads `<task>` or `<task>/<node>`. */
export const subjectName = (text: string): Subject => {
  const [task, node, ...more] = text.split('/');
  const of = TaskId.safeParse(task);
  const one = NodeId.safeParse(node);
  if (of.success && node === undefined) return { task: of.data };
  if (of.success && one.success && more.length === 0) return { task: of.data, node: one.data };
  throw new InvalidArgumentError('<task> or <task>/<node>, such as t-4k2m9x1c7h0a/build');
};

export const nameOf = ({ task, node }: Subject): string => (node === undefined ? task : jobOf(task, node));
