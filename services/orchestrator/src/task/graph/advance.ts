import { isEndPhase } from '@holdpoint/contracts/task/status';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { activationOf } from './activation.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { endTaskIfDone, endNode, failOnFailedNode } from './ending.ts';
import { failOnExpressionError, continueAttempt, startWhenReady } from './start-when-ready.ts';
import { nodeDefinition, nodeState } from '../model/state.ts';
import { guardHolds } from './steps.ts';
import { workflowIndex } from '../model/workflow-index.ts';

/** Advances the task until every node has ended or waits for a reply. */
export const advance = (builder: DecisionBuilder): void => {
  const { pausedByHand, circuit } = builder.task();
  if (pausedByHand || circuit?.state === 'waiting') return;
  while (!failOnFailedNode(builder)) {
    const id = builder.nextNode();
    if (id === undefined) return endTaskIfDone(builder);
    advanceNode(builder, id);
    if (isEndPhase(builder.task().phase)) return;
  }
};

const advanceNode = (builder: DecisionBuilder, id: NodeId): void => {
  const { status, paused, locks, orders, underGrant, done } = nodeState(builder.task(), id);
  if (paused) return;
  switch (status) {
    case 'idle':
      return activate(builder, id);
    case 'waiting':
      return orders === undefined ? activate(builder, id) : undefined;
    case 'approved':
      return startWhenReady(builder, id);
    case 'locking':
      return locks === 'held' ? startWhenReady(builder, id) : undefined;
    case 'running':
      // A step ended while the task was paused, and nothing is under way.
      return orders === undefined && underGrant === undefined && done !== undefined
        ? failOnExpressionError(builder, id, () => continueAttempt(builder, id))
        : undefined;
    default:
      return undefined;
  }
};

const activate = (builder: DecisionBuilder, id: NodeId): void => {
  const activation = activationOf(builder.task(), id);
  const { attempt, status, wait, inspected, gate } = nodeState(builder.task(), id);
  switch (activation.kind) {
    case 'pending':
      // Only an entry records this wait: it depends on other tasks. Within the graph the wait is visible
      // anyway.
      if (isEntry(builder, id) && wait?.detail !== activation.detail) {
        const next = { kind: 'dependencies', detail: activation.detail } as const;
        builder.emit({ type: 'node_waiting', node: id, attempt, wait: next });
      }
      return undefined;
    case 'blocked': {
      // Entries depend on other tasks only, so the dependency code does not fit them.
      const error = errorBody(isEntry(builder, id) ? 'NODE_BLOCKED' : 'NODE_DEPENDENCY', activation.detail);
      return endNode(builder, { type: 'node_ended', node: id, attempt, outcome: 'blocked', error });
    }
    case 'unreached': {
      const error = errorBody('NODE_DEPENDENCY', 'no route leads to it');
      return endNode(builder, { type: 'node_ended', node: id, attempt, outcome: 'unreached', error });
    }
    case 'run':
      // The guard is evaluated once per attempt.
      if (status === 'idle' && inspected === undefined && gate === undefined)
        return evaluateGuard(builder, id);
      return startWhenReady(builder, id);
  }
};

const isEntry = (builder: DecisionBuilder, id: NodeId): boolean =>
  workflowIndex(builder.task().definition).graph.incoming(id).length === 0;

const evaluateGuard = (builder: DecisionBuilder, id: NodeId): void =>
  failOnExpressionError(builder, id, () => {
    const node = nodeDefinition(builder.task(), id);
    if (guardHolds(builder.task(), node)) return startWhenReady(builder, id);
    const { attempt } = nodeState(builder.task(), id);
    const reason = `guard is false: ${node.guard ?? ''}`;
    return endNode(builder, { type: 'node_skipped', node: id, attempt, reason });
  });
