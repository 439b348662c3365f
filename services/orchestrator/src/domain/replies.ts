import type { ApprovalResolved } from '@holdpoint/contracts/approval';
import { effectDigest, type EffectEvent, type RunEffect } from '@holdpoint/contracts/effect';
import { errorBody, type ErrorBody } from '@holdpoint/contracts/errors';
import type { NodeId } from '@holdpoint/contracts/ids';
import type { RecoverTask } from '@holdpoint/contracts/task';
import { advance, assess, order, requestApproval, startNode } from './advance.ts';
import { replyTimer, retryTimer } from './asks.ts';
import type { Draft } from './draft.ts';
import { type Gate, nodeDefinition, nodeState, type NodeStatus } from './state.ts';
import { withdraw } from './withdraw.ts';

/** What the approvals service decided. A late answer to a question that is no longer open changes nothing. */
export const approvalResolved = (draft: Draft, fact: ApprovalResolved, now: number): void => {
  const { node, outcome, by, comment, grant, validUntil } = fact;
  const state = draft.task().nodes[node];
  if (state?.status !== 'awaiting_approval' || state.gate?.approval !== fact.id) return;
  const { attempt } = state;
  if (outcome === 'approved' && grant !== undefined && validUntil !== undefined) {
    if (!draft.task().pausedByHand) return order(draft, node, fact.id, grant, validUntil, now);
    draft.timer({ clear: replyTimer(node) });
    return draft.emit({
      type: 'approval_closed',
      node,
      attempt,
      approval: fact.id,
      outcome,
      by,
      comment,
      grant,
      validUntil,
    });
  }
  draft.timer({ clear: replyTimer(node) });
  draft.emit({ type: 'approval_closed', node, attempt, approval: fact.id, outcome, by, comment });
  if (outcome === 'changes_requested') {
    return draft.emit({
      type: 'node_escalated',
      node,
      attempt,
      reason: `changes requested by ${by}: ${comment ?? 'no comment'}`,
    });
  }
  const error = errorBody(
    'ERR_FORBIDDEN',
    `${outcome} by ${by}${comment === undefined ? '' : `: ${comment}`}`,
  );
  draft.emit({ type: 'node_blocked', node, attempt, error });
  advance(draft, now);
};

/** What became of the effect. Only the outcome of what this task ordered counts, whoever says so. */
export const effectReported = (draft: Draft, fact: EffectEvent, now: number): void => {
  const state = draft.task().nodes[fact.node];
  if (state?.gate?.effectId !== fact.id) return;
  const { status, attempt, ordered } = state;
  // Knowledge that it did happen is welcome at any time; every other outcome only from the attempt that is running.
  if (fact.type === 'applied' && ordered === true && AWAITS_OUTCOME.has(status))
    return succeeded(draft, fact.node, fact.outputs, now);
  if (status !== 'running' || fact.attempt !== attempt) return;
  switch (fact.type) {
    case 'applied':
    case 'prepared':
    case 'cancel_requested':
    case 'started':
    case 'superseded':
      return;
    case 'failed_clean':
      return failed(draft, fact.node, 'failed', fact.error, now);
    case 'cancelled':
      return failed(draft, fact.node, 'failed', errorBody('EXECUTOR_CANCELLED', fact.reason), now);
    case 'in_doubt':
      if (fact.next === 'repeat') return;
      return failed(draft, fact.node, 'in_doubt', errorBody('EXECUTOR_OUTCOME_UNKNOWN', fact.reason), now);
    case 'refused':
      if (!isOrdered(fact.order, state.gate)) return;
      if (fact.error.code !== 'EXECUTOR_GRANT_EXPIRED')
        return failed(draft, fact.node, 'failed', fact.error, now);
      return askAnew(draft, fact.node, now);
  }
};

/**
 * Whether this very order was given. The same attempt may have been ordered before, under a grant that had run out; and
 * somebody else may have ordered something like it.
 */
const isOrdered = ({ grant, digest, effect }: RunEffect, gate: Gate): boolean =>
  grant === gate.grant?.token && digest === gate.digest && effectDigest(effect) === gate.digest;

/** Until the node has ended, one way or the other. */
const AWAITS_OUTCOME: ReadonlySet<NodeStatus> = new Set([
  'running',
  'recovering',
  'retrying',
  'escalated',
  'awaiting_approval',
  'approved',
]);

const succeeded = (
  draft: Draft,
  node: NodeId,
  outputs: Extract<EffectEvent, { type: 'applied' }>['outputs'],
  now: number,
): void => {
  draft.timer({ clear: replyTimer(node) });
  draft.timer({ clear: retryTimer(node) });
  draft.emit({ type: 'node_succeeded', node, attempt: nodeState(draft.task(), node).attempt, outputs });
  withdraw(draft, node, now);
  advance(draft, now);
};

const failed = (
  draft: Draft,
  node: NodeId,
  outcome: 'failed' | 'in_doubt',
  error: ErrorBody,
  now: number,
): void => {
  draft.emit({ type: 'node_failed', node, attempt: nodeState(draft.task(), node).attempt, outcome, error });
  assess(draft, node, now);
};

/** The approval ran out before the executor could use it: nothing happened, so the question is put again. */
const askAnew = (draft: Draft, node: NodeId, now: number): void => {
  const definition = nodeDefinition(draft.task(), node);
  if (definition.effect !== undefined) requestApproval(draft, definition, definition.effect, now);
};

/** Carries out what recovery suggests for the attempt that failed. */
export const recover = (draft: Draft, { node, attempt, verdict }: RecoverTask, now: number): void => {
  const state = draft.task().nodes[node];
  if (state?.status !== 'recovering' || state.attempt !== attempt) return;
  draft.timer({ clear: replyTimer(node) });
  switch (verdict.kind) {
    case 'retry':
      draft.emit({ type: 'node_retrying', node, attempt: attempt + 1, delayMs: verdict.delayMs, verdict });
      return draft.timer({ set: retryTimer(node), dueAt: now + verdict.delayMs });
    case 'skip':
      draft.emit({ type: 'node_skipped', node, attempt, reason: verdict.reason, verdict });
      return advance(draft, now);
    case 'escalate':
      return draft.emit({ type: 'node_escalated', node, attempt, reason: verdict.reason, verdict });
    case 'rollback':
    case 'continue':
      return draft.emit({
        type: 'node_escalated',
        node,
        attempt,
        reason: `recovery asks for ${verdict.kind}: ${verdict.reason}`,
        verdict,
      });
  }
};

/** The delay of a granted retry is over. */
export const retryDue = (draft: Draft, node: NodeId, now: number): void => {
  if (nodeState(draft.task(), node).status !== 'retrying') return;
  if (draft.task().pausedByHand) return draft.timer({ set: retryTimer(node), dueAt: now + PAUSED_RETRY_MS });
  startNode(draft, nodeDefinition(draft.task(), node), now);
};

/** How often a retry that fell due during a pause looks whether the pause is over. */
const PAUSED_RETRY_MS = 5_000;
