import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import { doubtIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import { sendCallback } from '../outgoing/callback.ts';
import { requestInDoubtAnswer } from '../outgoing/approval-requests.ts';
import { resolveInDoubt } from '../outgoing/effect-orders.ts';
import { recordCheckpoint } from '../model/checkpoints.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { releaseAttempt, reportStuckJobEnd } from '../graph/ending.ts';
import { failForGood } from '../graph/finish.ts';
import { requestVerdict } from '../graph/request-verdict.ts';
import { type InDoubtEffect, type NodeState, nodeState } from '../model/state.ts';
import { startReplyTimer } from '../graph/steps.ts';

type InDoubt = Extract<EffectEvent, { type: 'in_doubt' }>;
type NotApplied = Extract<EffectEvent, { type: 'not_applied' }>;

/** Limit for the reason of a request. */
const REASON_MAX = 2_000;

/** The effect and start in doubt. Undefined for epoch 0, which no start has. */
export const inDoubtIn = ({
  id: effectId,
  epoch,
}: InDoubt): Pick<InDoubtEffect, 'effectId' | 'epoch'> | undefined =>
  epoch < 1 ? undefined : { effectId, epoch };

/** Asks people whether the effect was applied. */
export const askInDoubt = (
  builder: DecisionBuilder,
  node: NodeId,
  { effectId, epoch }: Pick<InDoubtEffect, 'effectId' | 'epoch'>,
  why: string,
): void => {
  const before = nodeState(builder.task(), node);
  const { attempt, questions = 0 } = before;
  const question = questions + 1;
  const approval = doubtIdOf(effectId, epoch, question);
  const reason = why.slice(0, REASON_MAX).toWellFormed();
  builder.emit({ type: 'in_doubt_asked', node, attempt, approval, effectId, epoch, question, reason });
  releaseAttempt(builder, node, before);
  recordCheckpoint(builder, node, { kind: 'resume_blocked', epoch, reason });
  builder.send(requestInDoubtAnswer(builder.task(), node, 0));
  startReplyTimer(builder, node);
  sendCallback(builder, 'in_doubt');
};

/** Applies the answer. An unanswered question is asked again: the node cannot continue without an answer. */
export const onInDoubtAnswer = (
  builder: DecisionBuilder,
  event: ApprovalResolved,
  state: NodeState,
): void => {
  const { inDoubt, status, attempt } = state;
  const { node, statement, by, comment } = event;
  if (inDoubt === undefined || inDoubt.answered !== undefined || status !== 'escalated') return;
  const { data: answer } = InDoubtAnswer.safeParse(event.answer);
  if (event.outcome !== 'answered' || answer === undefined || statement === undefined)
    return askInDoubt(builder, node, inDoubt, inDoubt.reason ?? '');
  const { id: approval } = event;
  builder.emit({ type: 'in_doubt_answered', node, attempt, approval, answer, by, comment, statement });
  if (answer === 'retry')
    recordCheckpoint(builder, node, {
      kind: 'resume_granted',
      epoch: inDoubt.epoch,
      reason: `${by} answered that the effect must run again`,
    });
  builder.send(resolveInDoubt(builder.task(), node, 0));
  startReplyTimer(builder, node);
  reportStuckJobEnd(builder, node, state);
};

/** Whether a person ordered the repeat. */
const isRepeatedByAnswer = ({ status, inDoubt }: NodeState): boolean =>
  status === 'running' && inDoubt?.answered?.answer === 'retry';

/** Events from before the answer, or about the replaced order, say nothing about the repeat. */
export const precedesAnswer = (state: NodeState, event: EffectEvent): boolean =>
  isRepeatedByAnswer(state) &&
  (event.type === 'refused' || ('epoch' in event && event.epoch <= (state.inDoubt?.epoch ?? 0)));

/** The event when the effect is in doubt again after the question. */
export const laterInDoubt = (state: NodeState, event: EffectEvent): InDoubt | undefined => {
  if (event.type !== 'in_doubt' || event.next !== 'person') return undefined;
  const { status, inDoubt } = state;
  const wasAsked = (status === 'escalated' || isRepeatedByAnswer(state)) && inDoubt?.approval !== undefined;
  return wasAsked && event.epoch > inDoubt.epoch ? event : undefined;
};

/** The ordered repeat failed. Recovery has judged this attempt already, so a person decides. */
export const pauseFailedRepeat = (builder: DecisionBuilder, node: NodeId, error: ErrorBody): boolean => {
  if (!isRepeatedByAnswer(nodeState(builder.task(), node))) return false;
  const paused = `failed when it was run again: ${error.code}: ${error.message}`;
  requestVerdict(builder, node, 'run', { outcome: 'failed', error, paused });
  return true;
};

const MAY_BE_DENIED: ReadonlySet<NodeState['status']> = new Set(['running', 'recovering', 'escalated']);

export const notAppliedByPerson = ({ status }: NodeState, event: EffectEvent): NotApplied | undefined =>
  event.type === 'not_applied' && event.by === 'person' && MAY_BE_DENIED.has(status) ? event : undefined;

/** A person stated that the effect was not applied, and did not choose `retry`: the node fails for good. */
export const onNotApplied = (builder: DecisionBuilder, { node, reason }: NotApplied): void => {
  const { inDoubt } = nodeState(builder.task(), node);
  const who = inDoubt?.answered === undefined ? reason : `${inDoubt.answered.by} said so`;
  const error = errorBody('EXECUTOR_NOT_APPLIED', `the effect was not applied: ${who}`);
  failForGood(builder, node, error);
};
