import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { StepContext, StepResult } from '@holdpoint/contracts/task/step';
import { hasEnded, nodeState, type Task } from './state.ts';
import { workflowIndex } from './workflow-index.ts';

/** Where a node works: as the nodes before it left things, along every edge that leads to it. */
export const contextBefore = (task: Task, node: NodeId): StepContext => {
  const before: Record<string, string> = {};
  for (const { from } of workflowIndex(task.definition).graph.incoming(node)) {
    const state = nodeState(task, from);
    if (hasEnded(state)) Object.assign(before, state.context);
  }
  return before;
};

/** What a result changes: a field that it says is null is there no more. */
export const contextAfter = (context: StepContext, changes: StepResult['context'] = {}): StepContext =>
  Object.fromEntries(
    Object.entries({ ...context, ...changes }).filter(
      (entry): entry is [string, string] => entry[1] !== null,
    ),
  );

/** Where the node works by now: as it found things, and as the steps of this attempt have left them. */
export const contextNow = (task: Task, node: NodeId) =>
  Object.values(nodeState(task, node).done ?? {}).reduce(
    (context, { context: changes }) => contextAfter(context, changes),
    contextBefore(task, node),
  );

/** Whether a session of it leaves something that the next can go on with. */
export const hasWorktree = (task: Task, node: NodeId): boolean =>
  task.repository !== undefined && contextNow(task, node).worktree !== undefined;
