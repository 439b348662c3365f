import type { NodeId } from '@holdpoint/contracts/ids';
import type { TaskView } from '@holdpoint/contracts/task';
import type { NodeState, Task } from './domain/state.ts';

const nodeView = (
  id: NodeId,
  { status, attempt, reason, gate, outputs, failure }: NodeState,
): TaskView['nodes'][number] => ({
  id,
  status,
  attempt,
  reason,
  approval: gate?.approval,
  outputs,
  error: failure?.error,
});

/** A task as the API shows it. */
export const taskView = (task: Task): TaskView => ({
  id: task.id,
  workflow: `${task.definition.id}@${String(task.definition.version)}`,
  goal: task.goal,
  phase: task.phase,
  version: task.version,
  nodes: Object.entries(task.nodes).map(([id, node]) => nodeView(id as NodeId, node)),
  error: task.error,
});
