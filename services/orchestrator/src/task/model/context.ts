import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { StepContext, StepResult } from '@holdpoint/contracts/task/step';
import { hasEnded, nodeState, type Task } from './state.ts';
import { workflowIndex } from './workflow-index.ts';

/** The context that a node starts with, merged along its incoming edges. */
export const contextBefore = (task: Task, node: NodeId): StepContext => {
  const before: Record<string, string> = {};
  for (const { from } of workflowIndex(task.definition).graph.incoming(node)) {
    const state = nodeState(task, from);
    if (hasEnded(state)) Object.assign(before, state.context);
  }
  return before;
};

/** Applies the changes of a result. A field set to null is removed. */
export const contextAfter = (context: StepContext, changes: StepResult['context'] = {}): StepContext =>
  Object.fromEntries(
    Object.entries({ ...context, ...changes }).filter(
      (entry): entry is [string, string] => entry[1] !== null,
    ),
  );

/** The context including the steps of this attempt. */
export const contextNow = (task: Task, node: NodeId) =>
  Object.values(nodeState(task, node).done ?? {}).reduce(
    (context, { context: changes }) => contextAfter(context, changes),
    contextBefore(task, node),
  );

/** Whether the next session can continue in the worktree of this one. */
export const hasWorktree = (task: Task, node: NodeId): boolean =>
  task.repository !== undefined && contextNow(task, node).worktree !== undefined;
