import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { HELD_WORKFLOW } from '@holdpoint/contracts/effect/hold';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { InspectOutputs, StepResult } from '@holdpoint/contracts/task/step';
import { lookTimer, replyTimer } from '../outgoing/outgoing.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { endNode, releaseNode } from '../graph/ending.ts';
import { requestVerdict, type AttemptFailure } from '../graph/request-verdict.ts';
import { finishAttempt } from '../graph/finish.ts';
import { DEFERRED_MARK, HANDOFF_STEP } from '../evolve/evolve.ts';
import { finishHandoff } from './session-handoff.ts';
import { failOnExpressionError, continueAttempt, openApproval } from '../graph/start-when-ready.ts';
import { outsideNeeds } from '../model/artifact-status.ts';
import {
  findNode,
  type GateRequest,
  nodeDefinition,
  nodeState,
  type NodeStatus,
  type StepOrder,
} from '../model/state.ts';
import { startReplyTimer, isSingleStep } from '../graph/steps.ts';
import { checkpointApplied, checkpointEffectEvent } from '../model/checkpoints.ts';
import {
  askInDoubt,
  onNotApplied,
  inDoubtIn,
  pauseFailedRepeat,
  precedesAnswer,
  notAppliedByPerson,
  laterInDoubt,
} from './in-doubt.ts';
import { skipsRecovery, recordRefusedSuggestion } from './gate-crash-policy.ts';

/** Applies an event of an effect or step. Only events about this task's own orders count. */
export const onEffectEvent = (builder: DecisionBuilder, event: EffectEvent): void => {
  const state = findNode(builder.task(), event.node);
  const { orders = {} } = state ?? {};
  const order = Object.hasOwn(orders, event.id) ? orders[event.id] : undefined;
  if (order !== undefined) {
    checkpointEffectEvent(builder, event);
    return onStepEvent(builder, event, order);
  }
  if (state?.gate?.effectId !== event.id) return;
  const { status, attempt, ordered } = state;
  if (ordered === true && !precedesAnswer(state, event)) {
    checkpointEffectEvent(builder, event);
    recordRefusedSuggestion(builder, event);
  }
  // `applied` counts at any time; other outcomes only from the running attempt.
  if (
    event.type === 'applied' &&
    ordered === true &&
    AWAITS_OUTCOME.has(status) &&
    mayContinue(builder, event.node)
  ) {
    const result = resultOf(state.gate.effect.uses, event.outputs);
    const isCurrent = event.attempt === attempt && (status === 'running' || status === 'recovering');
    // A result that ran and failed counts once: its consequences are under way.
    if (result.outcome !== 'succeeded' && !isCurrent) return undefined;
    if (isCurrent) checkpointApplied(builder, event.node);
    return stepCompleted(builder, event.node, 'run', result);
  }
  if (event.attempt !== attempt || precedesAnswer(state, event)) return;
  const no = ordered === true ? notAppliedByPerson(state, event) : undefined;
  if (no !== undefined) return onNotApplied(builder, no);
  const later = laterInDoubt(state, event);
  if (later !== undefined)
    return askInDoubt(builder, event.node, { effectId: event.id, epoch: later.epoch }, later.reason);
  if (status !== 'running') return;
  if (event.type === 'refused') {
    if (!isOrdered(event.order, state.gate)) return;
    // The grant expired before the executor used it. Nothing happened, so request approval again.
    if (event.error.code === 'EXECUTOR_GRANT_EXPIRED')
      return failOnExpressionError(builder, event.node, () => openApproval(builder, event.node));
  }
  const problem = problemIn(event);
  if (problem === undefined) return onDeferral(builder, event);
  if (pauseFailedRepeat(builder, event.node, problem.error)) return;
  // The program said itself that nothing happened: an effect without a workflow ends, and its requester decides.
  if (isHeld(builder.task()) && problem.error.code.startsWith('REMOTE_')) {
    const { error } = problem;
    return endNode(builder, { type: 'node_ended', node: event.node, attempt, outcome: 'failed', error });
  }
  const doubt = event.type === 'in_doubt' ? inDoubtIn(event) : undefined;
  if (doubt !== undefined && skipsRecovery(builder, event))
    return askInDoubt(builder, event.node, doubt, problem.error.message);
  requestVerdict(builder, event.node, 'run', { ...problem, ...(doubt && { doubt }) });
};

const isHeld = ({ definition }: ReturnType<DecisionBuilder['task']>): boolean =>
  definition.id === HELD_WORKFLOW;

/** Records that an order is deferred by a circuit, or no longer is. Once per attempt. */
const onDeferral = (builder: DecisionBuilder, event: EffectEvent): void => {
  const { deferral, marks = [], status, attempt } = nodeState(builder.task(), event.node);
  if (status !== 'running' || event.attempt !== attempt) return;
  const { node } = event;
  if (event.type === 'deferred' && !marks.includes(DEFERRED_MARK))
    builder.emit({ type: 'node_deferred', node, attempt, target: event.target, reason: event.reason });
  if (event.type === 'undeferred' && deferral !== undefined)
    builder.emit({ type: 'node_undeferred', node, attempt });
};

/** Whether the outcome is new, and the rest of the attempt has its locks. */
const mayContinue = (builder: DecisionBuilder, node: NodeId): boolean => {
  const definition = nodeDefinition(builder.task(), node);
  const { done, locks, status, failure } = nodeState(builder.task(), node);
  if (isSingleStep(definition)) return true;
  // Another step failed since, so this outcome is known already.
  const isKnown = status !== 'running' && failure !== undefined && failure.step !== 'run';
  if (done?.['run'] !== undefined || isKnown) return false;
  const locked = builder.task().repository !== undefined && (definition.locks ?? []).length > 0;
  return !locked || locks === 'held';
};

/** The failure in an event. Undefined when the event is none. */
const problemIn = (event: EffectEvent): AttemptFailure | undefined => {
  switch (event.type) {
    case 'applied':
    case 'prepared':
    case 'deferred':
    case 'undeferred':
    case 'cancel_requested':
    case 'started':
    case 'claimed':
    case 'superseded':
    case 'probed':
    case 'answered':
    case 'duplicate_prevented':
      return undefined;
    case 'not_applied':
      return { outcome: 'failed', error: errorBody('EXECUTOR_NOT_APPLIED', event.reason) };
    case 'failed_clean':
    case 'refused':
      return { outcome: 'failed', error: event.error };
    case 'cancelled':
      return { outcome: 'failed', error: errorBody('EXECUTOR_CANCELLED', event.reason) };
    case 'in_doubt':
      if (event.next !== 'person') return undefined;
      return {
        outcome: 'in_doubt',
        error: errorBody('EXECUTOR_OUTCOME_UNKNOWN', event.reason),
        cause: event.cause,
      };
  }
};

/** A retry would fail the same way. */
const PERMANENT: ReadonlySet<string> = new Set([
  'EXECUTOR_INVALID_ARGUMENTS',
  'EXECUTOR_UNKNOWN_CAPABILITY',
  'EXECUTOR_PATH_REFUSED',
  'EXECUTOR_REPOSITORY_NOT_ALLOWED',
  'EXECUTOR_CLASS_MISMATCH',
  'EXECUTOR_EFFECT_MISDESCRIBED',
]);

const onStepEvent = (
  builder: DecisionBuilder,
  event: EffectEvent,
  { step, effect, digest }: StepOrder,
): void => {
  const { attempt } = nodeState(builder.task(), event.node);
  if (event.attempt !== attempt) return;
  if (event.type === 'applied') {
    checkpointApplied(builder, event.node);
    return stepEnded(builder, event.node, step, resultOf(effect.uses, event.outputs));
  }
  if (event.type === 'refused' && effectDigest(event.order.effect) !== digest) return;
  const problem = problemIn(event);
  if (problem === undefined) return onDeferral(builder, event);
  // The next session finds the files in the worktree, committed or not.
  if (step === HANDOFF_STEP) return finishHandoff(builder, event.node, undefined);
  const { onError } = nodeDefinition(builder.task(), event.node);
  const ownRule = onError !== undefined && onError.strategy !== 'recover';
  if (problem.outcome === 'failed' && (ownRule || PERMANENT.has(problem.error.code))) {
    const detail = `${problem.error.code}: ${problem.error.message}`.slice(0, 2_000);
    return stepEnded(builder, event.node, step, { outcome: 'failed', detail });
  }
  requestVerdict(builder, event.node, step, problem);
};

/** The result of a stage capability. An unreadable one fails the node. */
const resultOf = (uses: string, outputs: JsonObject): StepResult => {
  if (CAPABILITIES[uses]?.stage !== true) return { outcome: 'succeeded', outputs };
  const result = StepResult.safeParse(outputs);
  return result.success
    ? result.data
    : { outcome: 'failed', detail: `${uses} returned an unreadable result` };
};

/** Inspections and previews come before the work. */
const stepEnded = (builder: DecisionBuilder, node: NodeId, step: string, result: StepResult): void => {
  if (step === 'inspect') return inspected(builder, node, result);
  if (step === 'preview') return previewed(builder, node, result);
  if (step === HANDOFF_STEP) return finishHandoff(builder, node, result);
  return stepCompleted(builder, node, step, result);
};

const stepCompleted = (builder: DecisionBuilder, node: NodeId, step: string, result: StepResult): void => {
  const before = nodeState(builder.task(), node);
  const { attempt } = before;
  if (isSingleStep(nodeDefinition(builder.task(), node))) return finishAttempt(builder, node, result, step);
  builder.emit({ type: 'step_ended', node, attempt, step, result });
  releaseNode(builder, node, before);
  const { paused, orders } = nodeState(builder.task(), node);
  if (orders !== undefined) startReplyTimer(builder, node);
  if (builder.task().pausedByHand || paused === true) return undefined;
  return failOnExpressionError(builder, node, () => continueAttempt(builder, node));
};

const UNMET_MAX = 2_000;

const inspected = (builder: DecisionBuilder, node: NodeId, result: StepResult): void => {
  const { attempt, looks = 1 } = nodeState(builder.task(), node);
  const { firstMs, lastMs } = builder.timing.inspection;
  if (result.outcome !== 'succeeded') return finishAttempt(builder, node, result, 'inspect');
  const found = InspectOutputs.safeParse(result.outputs).data;
  if (found === undefined) {
    const detail = 'the inspection of the repository returned an unreadable result';
    return finishAttempt(builder, node, { outcome: 'failed', detail }, 'inspect');
  }
  const { artifacts, preconditions } = found;
  const open = preconditions.filter(({ met }) => !met).map(({ kind, detail }) => `${kind}: ${detail}`);
  const unmet = open.length === 0 ? undefined : open.join('; ').slice(0, UNMET_MAX).toWellFormed();
  const seen = { artifacts, ...(unmet !== undefined && { unmet }) };
  builder.timer({ clear: replyTimer(node) });
  builder.emit({ type: 'node_inspected', node, attempt, ...seen });
  // The registry drops a watch that is not renewed.
  if (outsideNeeds(builder.task(), node).length > 0) startReplyTimer(builder, node);
  builder.enqueue([node]);
  // A person may change the repository by hand, without an event. So inspect it again, ever more rarely.
  if (unmet !== undefined || Object.values(artifacts).includes(false))
    builder.timer({
      set: lookTimer(node),
      dueAt: builder.now + Math.min(firstMs * 2 ** (looks - 1), lastMs),
    });
};

const previewed = (builder: DecisionBuilder, node: NodeId, result: StepResult): void => {
  const { attempt } = nodeState(builder.task(), node);
  const nothingToDo = result.outputs?.['already'] === true;
  if (result.outcome !== 'succeeded' || nothingToDo) return finishAttempt(builder, node, result, 'preview');
  builder.timer({ clear: replyTimer(node) });
  builder.emit({ type: 'node_previewed', node, attempt, preview: result.outputs ?? {} });
  builder.enqueue([node]);
};

/**
 * Whether the event is about this order. Older orders of the same attempt, and forged ones, differ in grant
 * or digest.
 */
const isOrdered = ({ grant, digest, effect }: RunEffect, gate: GateRequest): boolean =>
  grant === gate.grant?.token && digest === gate.digest && effectDigest(effect) === gate.digest;

const AWAITS_OUTCOME: ReadonlySet<NodeStatus> = new Set([
  'running',
  'recovering',
  'retrying',
  'escalated',
  'awaiting_approval',
  'approved',
]);
