import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import { type ErrorCode, errorBody, isErrorCode } from '@holdpoint/contracts/values/errors';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { evaluateCondition, ExpressionError } from '@holdpoint/workflows/expression/expression';
import { replyTimer } from '../outgoing/outgoing.ts';
import { recordCheckpoint } from '../model/checkpoints.ts';
import { onInDoubtAnswer } from './in-doubt.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { effectGate } from '../model/effect-gate.ts';
import { decisionCode, decisionText } from '../model/earlier-attempts.ts';
import { blockNode } from '../graph/ending.ts';
import { finishAttempt } from '../graph/finish.ts';
import { gateScope } from '../outgoing/gate-scope.ts';
import { type CheckpointNote, checkpointNotes } from '../outgoing/gate-checkpoints.ts';
import { type GateFacts, judge, type GateSuggestion, suggestionFor } from './gate-suggestions.ts';
import { failOnExpressionError } from '../graph/start-when-ready.ts';
import { requestVerdict } from '../graph/request-verdict.ts';
import { restartNodes } from '../graph/restart.ts';
import {
  type GateDecision,
  findNode,
  type GateRequest,
  nodeDefinition,
  type NodeState,
  nodeState,
} from '../model/state.ts';
import { orderApproved, RETRY_BUDGET_DEFAULT } from '../graph/steps.ts';
import { onStuckAnswer } from './stuck-job.ts';
import { nearestAgent, isDownstreamOf } from '../model/upstream.ts';

/** An open request and its decision. */
type Resolution = { readonly event: ApprovalResolved; readonly state: NodeState; readonly gate: GateRequest };

/** Applies a decision. A late decision on a closed request changes nothing. */
export const onApprovalResolved = (builder: DecisionBuilder, event: ApprovalResolved): void => {
  const state = findNode(builder.task(), event.node);
  if (state?.inDoubt?.approval === event.id) return onInDoubtAnswer(builder, event, state);
  if (state?.stuck?.approval === event.id) return onStuckAnswer(builder, event, state);
  const { status, gate } = state ?? {};
  if (state === undefined || status !== 'awaiting_approval' || gate?.approval !== event.id) return;
  const resolution = { event, state, gate };
  const judgement = judged(builder, resolution);
  if (judgement instanceof ExpressionError) {
    close(builder, resolution);
    return failOnExpressionError(builder, event.node, () => {
      throw judgement;
    });
  }
  applyRoute(builder, resolution, judgement);
};

const grantIn = ({ outcome, grant, validUntil }: ApprovalResolved) =>
  outcome === 'approved' && grant !== undefined && validUntil !== undefined
    ? { grant, validUntil }
    : undefined;

/** The route, and the checkpoints that the gate's branch records. */
type Judgement = GateSuggestion & { readonly notes: readonly CheckpointNote[] };

/** The route of the decision, or the error in a condition or checkpoint of the gate. */
const judged = (
  builder: DecisionBuilder,
  { event, state, gate }: Resolution,
): Judgement | ExpressionError => {
  const task = builder.task();
  const { node, outcome, by, comment = '' } = event;
  const facts: GateFacts = {
    outcome,
    granted: grantIn(event) !== undefined,
    endsOnExpiry: nodeDefinition(task, node).effect?.endsOnExpiry === true,
    applied: state.appliedBefore?.effectId === gate.effectId,
    agent: outcome === 'approved' ? undefined : nearestAgent(task, node),
    leadsHere: (to) => isDownstreamOf(task, to, node),
  };
  const template = effectGate(task, node);
  if (template === undefined) return { ...judge(undefined, facts), notes: [] };
  const scope = (): JsonObject => {
    const about = { effect: gate.effect, digest: gate.digest, revision: state.revision };
    const decided = { id: event.id, outcome, by, comment };
    return gateScope(task, node, template, about, gate.asked?.inputs ?? {}, decided);
  };
  try {
    const suggestion = suggestionFor(template, outcome, (condition) => evaluateCondition(condition, scope()));
    const checkpoints = suggestion?.checkpoints ?? [];
    const notes = checkpoints.length === 0 ? [] : checkpointNotes(checkpoints, scope());
    return { ...judge(suggestion, facts), notes };
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
};

type Closing = { readonly keepsGrant?: boolean; readonly resumes?: boolean; readonly payload?: JsonObject };

const close = (
  builder: DecisionBuilder,
  { event, state }: Resolution,
  { keepsGrant = false, resumes = false, payload }: Closing = {},
): void => {
  const { node, id: approval, outcome, by, comment } = event;
  builder.emit({
    type: 'approval_closed',
    node,
    attempt: state.attempt,
    approval,
    outcome,
    by,
    comment,
    ...(resumes && { resumes }),
    ...(payload && { payload }),
    ...(keepsGrant && grantIn(event)),
  });
};

const applyRoute = (
  builder: DecisionBuilder,
  resolution: Resolution,
  { course, refused, notes }: Judgement,
): void => {
  const { event, state } = resolution;
  const { node } = event;
  const { revision } = state;
  const resumes = event.outcome === 'approved' && (course.kind === 'resume' || course.kind === 'known');
  // The decision records this checkpoint itself, with the payload of the gate.
  const own = resumes ? 'resume_granted' : 'resume_blocked';
  const payload = notes.find(({ name }) => name === own)?.payload;
  const closing: Closing = { resumes, ...(payload && { payload }) };
  const note = (): void => {
    for (const each of notes)
      if (each.name !== own) recordCheckpoint(builder, node, { kind: 'noted', revision, ...each });
    if (refused === undefined) return;
    const about = { kind: 'suggestion_refused', revision, name: 'on_decision' } as const;
    recordCheckpoint(builder, node, { ...about, reason: refused });
  };
  const said = reasonOf(event);
  switch (course.kind) {
    case 'resume': {
      const grant = grantIn(event);
      if (grant === undefined) throw new Error(`approval ${event.id} has no grant`);
      if (mayOrderAtOnce(builder, node)) {
        note();
        const { by, comment } = event;
        const granted = { by, ...(comment !== undefined && { comment }), ...(payload && { payload }) };
        return orderApproved(builder, node, { token: grant.grant, validUntil: grant.validUntil }, granted);
      }
      close(builder, resolution, { ...closing, keepsGrant: true });
      note();
      builder.timer({ clear: replyTimer(node) });
      return builder.enqueue([node]);
    }
    case 'back':
      close(builder, resolution, closing);
      note();
      return restartWithChanges(builder, resolution, course.to);
    case 'blocked':
      close(builder, resolution, closing);
      note();
      return blockNode(builder, node, said, refusalCodeOf(event));
    case 'paused':
      close(builder, resolution, { ...closing, keepsGrant: true });
      note();
      return pauseNode(
        builder,
        resolution,
        event.outcome === 'changes_requested' && event.comment === undefined ? `${said}: no comment` : said,
      );
    case 'recovering':
      close(builder, resolution, { ...closing, keepsGrant: true });
      note();
      return requestVerdict(builder, node, 'run', {
        outcome: 'failed',
        error: errorBody(refusalCodeOf(event), said),
      });
    case 'known': {
      close(builder, resolution, closing);
      note();
      const { appliedBefore } = nodeState(builder.task(), node);
      return finishAttempt(builder, node, { ...appliedBefore?.result, outcome: 'succeeded' }, 'run');
    }
  }
};

/** A request that was refused before anybody was asked names the code of its problem. */
const refusalCodeOf = ({ outcome, surface, comment = '' }: ApprovalResolved): ErrorCode => {
  const [code = ''] = comment.split(':', 1);
  if (surface === 'policy' && isErrorCode(code)) return code;
  return decisionCode(outcome);
};

/** Why the node does not continue. */
const reasonOf = (event: ApprovalResolved): string => {
  const said = decisionText(decisionIn(event));
  if (event.outcome !== 'approved') return said;
  return grantIn(event) === undefined ? `${said}, without a grant` : `${said}, but its gate stopped it`;
};

const decisionIn = ({ outcome, by, comment }: ApprovalResolved): GateDecision => ({
  outcome,
  by,
  ...(comment !== undefined && { comment }),
});

const pauseNode = (builder: DecisionBuilder, { event }: Resolution, paused: string): void =>
  requestVerdict(builder, event.node, 'run', {
    outcome: 'failed',
    error: errorBody(refusalCodeOf(event), paused),
    paused,
  });

/** The decision of a timeout. */
const isExpiry = ({ surface }: ApprovalResolved): boolean => surface === 'clock';

/** The requested changes, by person. */
const requestedChanges = (event: ApprovalResolved): string => {
  if (isExpiry(event)) return 'no decision before the deadline';
  const others = (event.votes ?? []).filter(
    ({ decision, by, comment }) => decision === 'request_changes' && by !== event.by && comment !== undefined,
  );
  const wishes = [event, ...others].map(({ by, comment }) => `${by}: ${comment ?? 'no comment'}`);
  return wishes.join('\n');
};

/** Limit for the hint to an agent. */
const HINT_MAX = 65_536;

/**
 * Restarts from an upstream node with the requested changes as its hint. People may do that without limit.
 * Expiries are limited by the retry budget; after that a person must decide.
 */
const restartWithChanges = (builder: DecisionBuilder, resolution: Resolution, to: NodeId): void => {
  const { event, state } = resolution;
  const { node, outcome, by } = event;
  const what = outcome === 'changes_requested' ? 'changes requested by' : `${outcome.replace('_', ' ')} by`;
  const hint = `${what} ${requestedChanges(event)}`.slice(0, HINT_MAX).toWellFormed();
  if (!isExpiry(event)) return restartNodes(builder, [to], { hint, by });
  const { loops = 0 } = state;
  const { retry } = nodeDefinition(builder.task(), node);
  if (loops >= (retry?.budget ?? RETRY_BUDGET_DEFAULT))
    return pauseNode(builder, resolution, `no decision before the deadline, ${String(loops + 1)} times`);
  return restartNodes(builder, [to], { route: node, hint, by });
};

/** No pause, lock or earlier step stands between the approval and the order. */
const mayOrderAtOnce = (builder: DecisionBuilder, node: NodeId): boolean => {
  const { effect, locks = [], before = [] } = nodeDefinition(builder.task(), node);
  const { pausedByHand, repository } = builder.task();
  const locked = locks.length > 0 && repository !== undefined;
  const { paused } = nodeState(builder.task(), node);
  return effect !== undefined && !pausedByHand && paused !== true && !locked && before.length === 0;
};
