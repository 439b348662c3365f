import { isEndPhase } from '@holdpoint/contracts/task/status';
import type { CommandId, NodeId } from '@holdpoint/contracts/values/ids';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import { downstreamOf } from '@holdpoint/workflows/graph/graph';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { releaseNode, sendArtifactReport } from './ending.ts';
import { watchPeers } from '../outgoing/watch-peers.ts';
import { nodeState } from '../model/state.ts';
import { workflowIndex } from '../model/workflow-index.ts';

type RestartCause = {
  /** The node that the route starts from. */
  readonly route?: NodeId;
  readonly verdict?: Verdict;
  readonly hint?: string;
  readonly by?: string;
  readonly command?: CommandId;
};

/** Nodes that ended only because the task failed. They continue with it. */
const interruptedNodes = (builder: DecisionBuilder): readonly NodeId[] =>
  builder.task().phase === 'failed'
    ? builder.task().definition.nodes.flatMap(({ id }) => {
        const { status, error } = nodeState(builder.task(), id);
        return error === undefined && (status === 'blocked' || status === 'cancelled') ? [id] : [];
      })
    : [];

/** The targets, and everything downstream of them that has left `idle`. */
export const restartSet = (builder: DecisionBuilder, targets: readonly NodeId[]): readonly NodeId[] => {
  const { graph } = workflowIndex(builder.task().definition);
  const wanted = new Set(targets);
  const all = new Set(targets.flatMap((target) => downstreamOf(graph, target)));
  for (const id of interruptedNodes(builder)) all.add(id);
  return [...all].filter((id) => wanted.has(id) || nodeState(builder.task(), id).status !== 'idle');
};

/** Restarts the targets and everything downstream, each with its next attempt. */
export const restartNodes = (
  builder: DecisionBuilder,
  targets: readonly NodeId[],
  cause: RestartCause,
): void => {
  const [first] = targets;
  if (first === undefined) return;
  const nodes = restartSet(builder, targets);
  const reopens = isEndPhase(builder.task().phase);
  const before = nodes.map((id) => [id, nodeState(builder.task(), id)] as const);
  builder.emit({ type: 'restarted', node: first, nodes: [...nodes], ...cause });
  for (const [id, state] of before) releaseNode(builder, id, state);
  sendArtifactReport(builder);
  if (reopens) watchPeers(builder);
  builder.enqueue(nodes);
};
