import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { InspectOutputs, StepResult } from '@holdpoint/contracts/task/step';
import { lookTimer, replyTimer } from '../outgoing/outgoing.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { releaseNode } from '../graph/ending.ts';
import { requestVerdict, type AttemptFailure } from '../graph/request-verdict.ts';
import { finishAttempt } from '../graph/finish.ts';
import { DEFERRED_MARK, HANDOFF_STEP } from '../model/evolve.ts';
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
  escalateFailedRepeat,
  precedesAnswer,
  notAppliedByPerson,
  laterInDoubt,
} from './in-doubt.ts';
import { skipsRecovery, recordRefusedSuggestion } from './gate-crash-policy.ts';

/** What became of an effect, or of a step. Only the outcome of what this task ordered counts, whoever says so. */
export const onEffectEvent = (builder: DecisionBuilder, fact: EffectEvent): void => {
  const state = findNode(builder.task(), fact.node);
  const { orders = {} } = state ?? {};
  const order = Object.hasOwn(orders, fact.id) ? orders[fact.id] : undefined;
  if (order !== undefined) {
    checkpointEffectEvent(builder, fact);
    return onStepEvent(builder, fact, order);
  }
  if (state?.gate?.effectId !== fact.id) return;
  const { status, attempt, ordered } = state;
  if (ordered === true && !precedesAnswer(state, fact)) {
    checkpointEffectEvent(builder, fact);
    recordRefusedSuggestion(builder, fact);
  }
  // Knowledge that it did happen is welcome at any time; every other outcome only from the attempt that is running.
  if (
    fact.type === 'applied' &&
    ordered === true &&
    AWAITS_OUTCOME.has(status) &&
    mayContinue(builder, fact.node)
  ) {
    const result = resultOf(state.gate.effect.uses, fact.outputs);
    const isCurrent = fact.attempt === attempt && (status === 'running' || status === 'recovering');
    // That it was carried out, and failed, is said once: what followed from it is under way.
    if (result.outcome !== 'succeeded' && !isCurrent) return undefined;
    if (isCurrent) checkpointApplied(builder, fact.node);
    return stepCompleted(builder, fact.node, 'run', result);
  }
  if (fact.attempt !== attempt || precedesAnswer(state, fact)) return;
  const no = ordered === true ? notAppliedByPerson(state, fact) : undefined;
  if (no !== undefined) return onNotApplied(builder, no);
  const later = laterInDoubt(state, fact);
  if (later !== undefined)
    return askInDoubt(builder, fact.node, { effectId: fact.id, epoch: later.epoch }, later.reason);
  if (status !== 'running') return;
  if (fact.type === 'refused') {
    if (!isOrdered(fact.order, state.gate)) return;
    // The approval ran out before the executor could use it: nothing happened, so the question is put again.
    if (fact.error.code === 'EXECUTOR_GRANT_EXPIRED')
      return failOnExpressionError(builder, fact.node, () => openApproval(builder, fact.node));
  }
  const problem = problemIn(fact);
  if (problem === undefined) return onDeferral(builder, fact);
  if (escalateFailedRepeat(builder, fact.node, problem.error)) return;
  const doubt = fact.type === 'in_doubt' ? inDoubtIn(fact) : undefined;
  if (doubt !== undefined && skipsRecovery(builder, fact))
    return askInDoubt(builder, fact.node, doubt, problem.error.message);
  requestVerdict(builder, fact.node, 'run', { ...problem, ...(doubt && { doubt }) });
};

/** An order may not begin because what it talks to fails; or it begins. Shown once for each attempt. */
const onDeferral = (builder: DecisionBuilder, fact: EffectEvent): void => {
  const { deferral, marks = [], status, attempt } = nodeState(builder.task(), fact.node);
  if (status !== 'running' || fact.attempt !== attempt) return;
  const { node } = fact;
  if (fact.type === 'deferred' && !marks.includes(DEFERRED_MARK))
    builder.emit({ type: 'node_deferred', node, attempt, target: fact.target, reason: fact.reason });
  if (fact.type === 'undeferred' && deferral !== undefined)
    builder.emit({ type: 'node_undeferred', node, attempt });
};

/** It is not known already, and what comes after it in the same attempt has the locks that it needs. */
const mayContinue = (builder: DecisionBuilder, node: NodeId): boolean => {
  const definition = nodeDefinition(builder.task(), node);
  const { done, locks, status, failure } = nodeState(builder.task(), node);
  if (isSingleStep(definition)) return true;
  // What failed since was another step: that the effect has happened is no news.
  const isKnown = status !== 'running' && failure !== undefined && failure.step !== 'run';
  if (done?.['run'] !== undefined || isKnown) return false;
  const locked = builder.task().repository !== undefined && (definition.locks ?? []).length > 0;
  return !locked || locks === 'held';
};

/** Whether it was not carried out, or nobody can know. */
const problemIn = (fact: EffectEvent): AttemptFailure | undefined => {
  switch (fact.type) {
    case 'applied':
    case 'prepared':
    case 'deferred':
    case 'undeferred':
    case 'cancel_requested':
    case 'started':
    case 'superseded':
    case 'probed':
    case 'answered':
    case 'duplicate_prevented':
      return undefined;
    case 'not_applied':
      return { outcome: 'failed', error: errorBody('EXECUTOR_NOT_APPLIED', fact.reason) };
    case 'failed_clean':
    case 'refused':
      return { outcome: 'failed', error: fact.error };
    case 'cancelled':
      return { outcome: 'failed', error: errorBody('EXECUTOR_CANCELLED', fact.reason) };
    case 'in_doubt':
      if (fact.next !== 'person') return undefined;
      return {
        outcome: 'in_doubt',
        error: errorBody('EXECUTOR_OUTCOME_UNKNOWN', fact.reason),
        cause: fact.cause,
      };
  }
};

/** Trying again would meet the same: the order itself is wrong, or this executor may not do it. */
const PERMANENT: ReadonlySet<string> = new Set([
  'EXECUTOR_INVALID_ARGUMENTS',
  'EXECUTOR_UNKNOWN_CAPABILITY',
  'EXECUTOR_PATH_REFUSED',
  'EXECUTOR_REPOSITORY_NOT_ALLOWED',
  'EXECUTOR_CLASS_MISMATCH',
]);

const onStepEvent = (
  builder: DecisionBuilder,
  fact: EffectEvent,
  { step, effect, digest }: StepOrder,
): void => {
  const { attempt } = nodeState(builder.task(), fact.node);
  if (fact.attempt !== attempt) return;
  if (fact.type === 'applied') {
    checkpointApplied(builder, fact.node);
    return stepEnded(builder, fact.node, step, resultOf(effect.uses, fact.outputs));
  }
  if (fact.type === 'refused' && effectDigest(fact.order.effect) !== digest) return;
  const problem = problemIn(fact);
  if (problem === undefined) return onDeferral(builder, fact);
  // The next session finds what there is in the files, put by or not.
  if (step === HANDOFF_STEP) return finishHandoff(builder, fact.node, undefined);
  const { onError } = nodeDefinition(builder.task(), fact.node);
  const ownRule = onError !== undefined && onError.strategy !== 'recover';
  if (problem.outcome === 'failed' && (ownRule || PERMANENT.has(problem.error.code))) {
    const detail = `${problem.error.code}: ${problem.error.message}`.slice(0, 2_000);
    return stepEnded(builder, fact.node, step, { outcome: 'failed', detail });
  }
  requestVerdict(builder, fact.node, step, problem);
};

/** What a capability says of itself. A result that is none counts as a failure of the node, not of this task. */
const resultOf = (uses: string, outputs: JsonObject): StepResult => {
  if (CAPABILITIES[uses]?.stage !== true) return { outcome: 'succeeded', outputs };
  const result = StepResult.safeParse(outputs);
  return result.success
    ? result.data
    : { outcome: 'failed', detail: `${uses} gave no result that can be read` };
};

/** A look or a preview is not yet the work itself. */
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

const FIRST_LOOK_MS = 5_000;
const UNMET_MAX = 2_000;

const inspected = (builder: DecisionBuilder, node: NodeId, result: StepResult): void => {
  const { attempt, looks = 1 } = nodeState(builder.task(), node);
  if (result.outcome !== 'succeeded') return finishAttempt(builder, node, result, 'inspect');
  const found = InspectOutputs.safeParse(result.outputs).data;
  if (found === undefined) {
    const detail = 'what was found in the repository cannot be read';
    return finishAttempt(builder, node, { outcome: 'failed', detail }, 'inspect');
  }
  const { artifacts, preconditions } = found;
  const open = preconditions.filter(({ met }) => !met).map(({ kind, detail }) => `${kind}: ${detail}`);
  const unmet = open.length === 0 ? undefined : open.join('; ').slice(0, UNMET_MAX).toWellFormed();
  const seen = { artifacts, ...(unmet !== undefined && { unmet }) };
  builder.timer({ clear: replyTimer(node) });
  builder.emit({ type: 'node_inspected', node, attempt, ...seen });
  // The board forgets who does not ask again.
  if (outsideNeeds(builder.task(), node).length > 0) startReplyTimer(builder, node);
  builder.enqueue([node]);
  // Somebody may change the repository by hand: nobody tells of that, so it is looked at again, ever more rarely.
  if (unmet !== undefined || Object.values(artifacts).includes(false))
    builder.timer({
      set: lookTimer(node),
      dueAt: builder.now + Math.min(FIRST_LOOK_MS * 2 ** (looks - 1), 300_000),
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
 * Whether this very order was given. The same attempt may have been ordered before, under a grant that had run out; and
 * somebody else may have ordered something like it.
 */
const isOrdered = ({ grant, digest, effect }: RunEffect, gate: GateRequest): boolean =>
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
