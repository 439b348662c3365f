import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { LookOutputs, StepResult } from '@holdpoint/contracts/task/step';
import { lookTimer, replyTimer } from '../outgoing/outgoing.ts';
import type { Draft } from '../model/decision-builder.ts';
import { letGo } from '../graph/ending.ts';
import { failed, type Problem } from '../graph/request-verdict.ts';
import { finish } from '../graph/finish.ts';
import { HANDOFF } from '../model/evolve.ts';
import { handedOn } from './session-handoff.ts';
import { attempt as attempted, goOn, requestApproval } from '../graph/start-when-ready.ts';
import { foreignNeeds } from '../model/artifact-status.ts';
import {
  findNode,
  type Gate,
  nodeDefinition,
  nodeState,
  type NodeStatus,
  type Order,
} from '../model/state.ts';
import { awaitReply, isSingle } from '../graph/steps.ts';
import { noteApplied, noteFact } from '../model/checkpoints.ts';
import { holdUp } from './on-effect-deferred.ts';
import { askPeople, denied, doubtIn, failedAgain, isBeforeAnswer, denial, laterDoubt } from './in-doubt.ts';
import { asksPeopleAtOnce, noteSuggestion } from './gate-crash-policy.ts';

/** What became of an effect, or of a step. Only the outcome of what this task ordered counts, whoever says so. */
export const effectReported = (draft: Draft, fact: EffectEvent): void => {
  const state = findNode(draft.task(), fact.node);
  const { orders = {} } = state ?? {};
  const order = Object.hasOwn(orders, fact.id) ? orders[fact.id] : undefined;
  if (order !== undefined) {
    noteFact(draft, fact);
    return stepReported(draft, fact, order);
  }
  if (state?.gate?.effectId !== fact.id) return;
  const { status, attempt, ordered } = state;
  if (ordered === true && !isBeforeAnswer(state, fact)) {
    noteFact(draft, fact);
    noteSuggestion(draft, fact);
  }
  // Knowledge that it did happen is welcome at any time; every other outcome only from the attempt that is running.
  if (
    fact.type === 'applied' &&
    ordered === true &&
    AWAITS_OUTCOME.has(status) &&
    mayGoOn(draft, fact.node)
  ) {
    const result = resultOf(state.gate.effect.uses, fact.outputs);
    const isCurrent = fact.attempt === attempt && (status === 'running' || status === 'recovering');
    // That it was carried out, and failed, is said once: what followed from it is under way.
    if (result.outcome !== 'succeeded' && !isCurrent) return undefined;
    if (isCurrent) noteApplied(draft, fact.node);
    return carriedOut(draft, fact.node, 'run', result);
  }
  if (fact.attempt !== attempt || isBeforeAnswer(state, fact)) return;
  const no = ordered === true ? denial(state, fact) : undefined;
  if (no !== undefined) return denied(draft, no);
  const later = laterDoubt(state, fact);
  if (later !== undefined)
    return askPeople(draft, fact.node, { effectId: fact.id, epoch: later.epoch }, later.reason);
  if (status !== 'running') return;
  if (fact.type === 'refused') {
    if (!isOrdered(fact.order, state.gate)) return;
    // The approval ran out before the executor could use it: nothing happened, so the question is put again.
    if (fact.error.code === 'EXECUTOR_GRANT_EXPIRED')
      return attempted(draft, fact.node, () => requestApproval(draft, fact.node));
  }
  const problem = problemIn(fact);
  if (problem === undefined) return holdUp(draft, fact);
  if (failedAgain(draft, fact.node, problem.error)) return;
  const doubt = fact.type === 'in_doubt' ? doubtIn(fact) : undefined;
  if (doubt !== undefined && asksPeopleAtOnce(draft, fact))
    return askPeople(draft, fact.node, doubt, problem.error.message);
  failed(draft, fact.node, 'run', { ...problem, ...(doubt && { doubt }) });
};

/** It is not known already, and what comes after it in the same attempt has the locks that it needs. */
const mayGoOn = (draft: Draft, node: NodeId): boolean => {
  const definition = nodeDefinition(draft.task(), node);
  const { done, locks, status, failure } = nodeState(draft.task(), node);
  if (isSingle(definition)) return true;
  // What failed since was another step: that the effect has happened is no news.
  const isKnown = status !== 'running' && failure !== undefined && failure.step !== 'run';
  if (done?.['run'] !== undefined || isKnown) return false;
  const locked = draft.task().repository !== undefined && (definition.locks ?? []).length > 0;
  return !locked || locks === 'held';
};

/** Whether it was not carried out, or nobody can know. */
const problemIn = (fact: EffectEvent): Problem | undefined => {
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

const stepReported = (draft: Draft, fact: EffectEvent, { step, effect, digest }: Order): void => {
  const { attempt } = nodeState(draft.task(), fact.node);
  if (fact.attempt !== attempt) return;
  if (fact.type === 'applied') {
    noteApplied(draft, fact.node);
    return stepEnded(draft, fact.node, step, resultOf(effect.uses, fact.outputs));
  }
  if (fact.type === 'refused' && effectDigest(fact.order.effect) !== digest) return;
  const problem = problemIn(fact);
  if (problem === undefined) return holdUp(draft, fact);
  // The next session finds what there is in the files, put by or not.
  if (step === HANDOFF) return handedOn(draft, fact.node, undefined);
  const { onError } = nodeDefinition(draft.task(), fact.node);
  const ownRule = onError !== undefined && onError.strategy !== 'recover';
  if (problem.outcome === 'failed' && (ownRule || PERMANENT.has(problem.error.code))) {
    const detail = `${problem.error.code}: ${problem.error.message}`.slice(0, 2_000);
    return stepEnded(draft, fact.node, step, { outcome: 'failed', detail });
  }
  failed(draft, fact.node, step, problem);
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
const stepEnded = (draft: Draft, node: NodeId, step: string, result: StepResult): void => {
  if (step === 'inspect') return inspected(draft, node, result);
  if (step === 'preview') return previewed(draft, node, result);
  if (step === HANDOFF) return handedOn(draft, node, result);
  return carriedOut(draft, node, step, result);
};

const carriedOut = (draft: Draft, node: NodeId, step: string, result: StepResult): void => {
  const before = nodeState(draft.task(), node);
  const { attempt } = before;
  if (isSingle(nodeDefinition(draft.task(), node))) return finish(draft, node, result, step);
  draft.emit({ type: 'step_ended', node, attempt, step, result });
  letGo(draft, node, before);
  const { paused, orders } = nodeState(draft.task(), node);
  if (orders !== undefined) awaitReply(draft, node);
  if (draft.task().pausedByHand || paused === true) return undefined;
  return attempted(draft, node, () => goOn(draft, node));
};

const FIRST_LOOK_MS = 5_000;
const UNMET_MAX = 2_000;

const inspected = (draft: Draft, node: NodeId, result: StepResult): void => {
  const { attempt, looks = 1 } = nodeState(draft.task(), node);
  if (result.outcome !== 'succeeded') return finish(draft, node, result, 'inspect');
  const found = LookOutputs.safeParse(result.outputs).data;
  if (found === undefined) {
    const detail = 'what was found in the repository cannot be read';
    return finish(draft, node, { outcome: 'failed', detail }, 'inspect');
  }
  const { artifacts, preconditions } = found;
  const open = preconditions.filter(({ met }) => !met).map(({ kind, detail }) => `${kind}: ${detail}`);
  const unmet = open.length === 0 ? undefined : open.join('; ').slice(0, UNMET_MAX).toWellFormed();
  const seen = { artifacts, ...(unmet !== undefined && { unmet }) };
  draft.timer({ clear: replyTimer(node) });
  draft.emit({ type: 'node_inspected', node, attempt, ...seen });
  // The board forgets who does not ask again.
  if (foreignNeeds(draft.task(), node).length > 0) awaitReply(draft, node);
  draft.touch([node]);
  // Somebody may change the repository by hand: nobody tells of that, so it is looked at again, ever more rarely.
  if (unmet !== undefined || Object.values(artifacts).includes(false))
    draft.timer({
      set: lookTimer(node),
      dueAt: draft.now + Math.min(FIRST_LOOK_MS * 2 ** (looks - 1), 300_000),
    });
};

const previewed = (draft: Draft, node: NodeId, result: StepResult): void => {
  const { attempt } = nodeState(draft.task(), node);
  const nothingToDo = result.outputs?.['already'] === true;
  if (result.outcome !== 'succeeded' || nothingToDo) return finish(draft, node, result, 'preview');
  draft.timer({ clear: replyTimer(node) });
  draft.emit({ type: 'node_previewed', node, attempt, preview: result.outputs ?? {} });
  draft.touch([node]);
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
