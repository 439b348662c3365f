import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect';
import { errorBody } from '@holdpoint/contracts/errors';
import { approvalIdOf, effectIdOf, type NodeId } from '@holdpoint/contracts/ids';
import type { EffectDeclaration, NodeDefinition } from '@holdpoint/contracts/workflow';
import { askApproval, askRecovery, orderEffect, replyTimer, repeatDelayMs } from './asks.ts';
import type { Draft } from './draft.ts';
import { isDone, nodeState } from './state.ts';
import { endTask } from './withdraw.ts';

const isTerminalNode = ({ uses }: NodeDefinition): boolean => uses === 'control.terminal';

/** A grant that ends this soon is not used: the order has to reach the executor while it is valid. */
const GRANT_MARGIN_MS = 5_000;

/** Moves the task on as far as it goes without an answer from somebody else. */
export const advance = (draft: Draft, now: number): void => {
  if (draft.task().pausedByHand) return;
  if (failBlocked(draft, now)) return;
  for (let next = readyNode(draft); next !== undefined; next = readyNode(draft)) startNode(draft, next, now);
  const { definition, nodes } = draft.task();
  const open = definition.nodes.filter(
    (node) => !isTerminalNode(node) && !isDone(nodeState(draft.task(), node.id)),
  );
  if (open.length > 0) return;
  const outputs = Object.fromEntries(
    Object.entries(nodes).flatMap(([id, node]) => (node.outputs ? [[id, node.outputs]] : [])),
  );
  draft.emit({ type: 'completed', outputs });
};

/** Without a route for it, a blocked node ends the task, and what other nodes still ask for is withdrawn. */
const failBlocked = (draft: Draft, now: number): boolean => {
  const { definition } = draft.task();
  const blocked = definition.nodes.find(({ id }) => nodeState(draft.task(), id).status === 'blocked');
  if (blocked === undefined) return false;
  const { reason = 'blocked' } = nodeState(draft.task(), blocked.id);
  endTask(draft, { type: 'failed', error: errorBody('ERR_FORBIDDEN', reason, { node: blocked.id }) }, now);
  return true;
};

const readyNode = (draft: Draft): NodeDefinition | undefined => {
  const task = draft.task();
  return task.definition.nodes.find(
    (node) =>
      !isTerminalNode(node) &&
      (nodeState(task, node.id).status === 'idle' || nodeState(task, node.id).status === 'approved') &&
      node.after.every((id) => isDone(nodeState(task, id))),
  );
};

/** Starts the node's current attempt. */
export const startNode = (draft: Draft, node: NodeDefinition, now: number): void => {
  const { attempt, gate } = nodeState(draft.task(), node.id);
  if (node.effect === undefined)
    draft.emit({ type: 'node_succeeded', node: node.id, attempt, outputs: node.args });
  else if (gate?.grant !== undefined && gate.grant.validUntil > now + GRANT_MARGIN_MS) {
    order(draft, node.id, gate.approval, gate.grant.token, gate.grant.validUntil, now);
  } else requestApproval(draft, node, node.effect, now);
};

/** Orders the effect that was approved, and waits for its outcome. */
export const order = (
  draft: Draft,
  node: NodeId,
  approval: NonNullable<ReturnType<typeof nodeState>['gate']>['approval'],
  grant: string,
  validUntil: number,
  now: number,
): void => {
  const { attempt, gate } = nodeState(draft.task(), node);
  if (gate === undefined) throw new Error(`node ${node} was never gated`);
  draft.emit({ type: 'effect_ordered', node, attempt, effectId: gate.effectId, approval, grant, validUntil });
  draft.send(orderEffect(draft.task(), node, 0));
  awaitReply(draft, node, now);
};

/** Asks for a decision on the effect, anew if it was asked before. */
export const requestApproval = (
  draft: Draft,
  node: NodeDefinition,
  declared: EffectDeclaration,
  now: number,
): void => {
  const { id: task } = draft.task();
  const state = nodeState(draft.task(), node.id);
  const { kind, effectClass, target, idempotencyKey } = declared;
  const effect: CanonicalEffect = {
    task,
    node: node.id,
    uses: node.uses,
    args: node.args,
    kind,
    effectClass,
    target,
    idempotencyKey,
  };
  const revision = state.revision + 1;
  draft.emit({
    type: 'approval_requested',
    node: node.id,
    attempt: state.attempt,
    revision,
    approval: approvalIdOf(task, node.id, revision),
    effectId: effectIdOf(task, node.id, idempotencyKey),
    effect,
    digest: effectDigest(effect),
  });
  draft.send(askApproval(draft.task(), node.id, 0));
  awaitReply(draft, node.id, now);
};

/** Hands a failed attempt to recovery. */
export const assess = (draft: Draft, node: NodeId, now: number): void => {
  draft.send(askRecovery(draft.task(), node, 0));
  awaitReply(draft, node, now);
};

const awaitReply = (draft: Draft, node: NodeId, now: number): void =>
  draft.timer({ set: replyTimer(node), dueAt: now + repeatDelayMs(1), data: { ask: 1 } });
