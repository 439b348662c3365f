import type { NodeId } from '@holdpoint/contracts/values/ids';
import { downstreamOf } from '@holdpoint/workflows/graph/graph';
import { nodeDefinition, nodeState, type Task } from './state.ts';
import { workflowIndex } from './workflow-index.ts';

/** Whether a restart of `to` restarts `node` as well. */
export const isDownstreamOf = (task: Task, to: NodeId, node: NodeId): boolean =>
  downstreamOf(workflowIndex(task.definition).graph, to).includes(node);

const hasAgentRun = (task: Task, id: NodeId): boolean => {
  const { agent, uses } = nodeDefinition(task, id);
  const { status } = nodeState(task, id);
  return (
    (agent !== undefined || uses.startsWith('cap.agent.')) && (status === 'succeeded' || status === 'failed')
  );
};

/** The nearest agent upstream of a node; among several, the last in the definition. */
export const nearestAgent = (task: Task, node: NodeId): NodeId | undefined => {
  const { graph } = workflowIndex(task.definition);
  const seen = new Set([node]);
  let reached: readonly NodeId[] = [node];
  while (reached.length > 0) {
    reached = [...new Set(reached.flatMap((id) => graph.incoming(id).map(({ from }) => from)))].filter(
      (id) => !seen.has(id),
    );
    for (const id of reached) seen.add(id);
    const place = (id: NodeId): number => graph.position.get(id) ?? 0;
    const agent = reached
      .filter((id) => hasAgentRun(task, id))
      .toSorted((one, other) => place(one) - place(other))
      .at(-1);
    if (agent !== undefined) return agent;
  }
  return undefined;
};
