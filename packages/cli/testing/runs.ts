import { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { type NodeView, NodeView as NodeViewSchema, type TaskView } from '@holdpoint/contracts/task/views';

/** A node, as the API returns it. */
export const nodeView = (
  id: string,
  job: NodeView['job'],
  more: Readonly<Record<string, unknown>> = {},
): NodeView =>
  NodeViewSchema.parse({
    id,
    job,
    status: job,
    attempt: 1,
    uses: 'cap.env.shell.command.run',
    after: [],
    gated: false,
    ...more,
  });

/** A run, as the API returns it: the first node is the entry, the last one the sink. */
export const runView = (
  id: string,
  nodes: readonly NodeView[],
  more: Readonly<Partial<TaskView>> = {},
): TaskView => ({
  id: TaskId.parse(id),
  workflow: 'template.demo@v1',
  selector: 'demo',
  definitionHash: 'f'.repeat(64),
  goal: 'demo',
  phase: 'executing',
  version: 3,
  repository: '/repo',
  requestedBy: 'operator',
  entries: nodes.slice(0, 1).map((node) => NodeId.parse(node.id)),
  sinks: nodes.slice(-1).map((node) => NodeId.parse(node.id)),
  nodes: [...nodes],
  ...more,
});
