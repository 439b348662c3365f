import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import { DoubtAnswer } from '@holdpoint/contracts/effect/grant';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import { doubtIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import { askDoubt, resolveDoubt } from '../outgoing/outgoing.ts';
import { checkpoint } from '../model/checkpoints.ts';
import type { Draft } from '../model/decision-builder.ts';
import { giveBack, letGo, settleStuck } from '../graph/ending.ts';
import { finishForGood } from '../graph/finish.ts';
import { type Doubt, type NodeState, nodeState } from '../model/state.ts';
import { awaitReply } from '../graph/steps.ts';

type InDoubt = Extract<EffectEvent, { type: 'in_doubt' }>;
type NotApplied = Extract<EffectEvent, { type: 'not_applied' }>;

/** As much as a request takes. */
const REASON_MAX = 2_000;

/** Which doubt a node fails with. An epoch that no start can have is nothing that could be asked about. */
export const doubtIn = ({ id: effectId, epoch }: InDoubt): Pick<Doubt, 'effectId' | 'epoch'> | undefined =>
  epoch < 1 ? undefined : { effectId, epoch };

/** Puts the question to people: did it happen? */
export const askPeople = (
  draft: Draft,
  node: NodeId,
  { effectId, epoch }: Pick<Doubt, 'effectId' | 'epoch'>,
  why: string,
): void => {
  const before = nodeState(draft.task(), node);
  const { attempt, questions = 0 } = before;
  const question = questions + 1;
  const approval = doubtIdOf(effectId, epoch, question);
  const reason = why.slice(0, REASON_MAX).toWellFormed();
  draft.emit({ type: 'in_doubt_asked', node, attempt, approval, effectId, epoch, question, reason });
  giveBack(draft, node, before);
  checkpoint(draft, node, { kind: 'resume_blocked', epoch, reason });
  draft.send(askDoubt(draft.task(), node, 0));
  awaitReply(draft, node);
};

/** What became of the question. One that nobody answered is put again: without an answer nothing goes on. */
export const questionResolved = (draft: Draft, fact: ApprovalResolved, state: NodeState): void => {
  const { doubt, status, attempt } = state;
  const { node, statement, by, comment } = fact;
  if (doubt === undefined || doubt.said !== undefined || status !== 'escalated') return;
  const { data: answer } = DoubtAnswer.safeParse(fact.answer);
  if (fact.outcome !== 'answered' || answer === undefined || statement === undefined)
    return askPeople(draft, node, doubt, doubt.reason ?? '');
  const { id: approval } = fact;
  draft.emit({ type: 'in_doubt_answered', node, attempt, approval, answer, by, comment, statement });
  if (answer === 'retry')
    checkpoint(draft, node, {
      kind: 'resume_granted',
      epoch: doubt.epoch,
      reason: `${by} has said that it is to be done again`,
    });
  draft.send(resolveDoubt(draft.task(), node, 0));
  awaitReply(draft, node);
  settleStuck(draft, node, state);
};

/** Whether it is done again because a person has said so. */
const isDoneAgain = ({ status, doubt }: NodeState): boolean =>
  status === 'running' && doubt?.said?.answer === 'retry';

/** What was stated before the answer, or of an order that it has replaced, is no outcome of what it led to. */
export const isBeforeAnswer = (state: NodeState, fact: EffectEvent): boolean =>
  isDoneAgain(state) &&
  (fact.type === 'refused' || ('epoch' in fact && fact.epoch <= (state.doubt?.epoch ?? 0)));

/** The doubt that people were asked about is over, and a later one stands in its place. */
export const laterDoubt = (state: NodeState, fact: EffectEvent): InDoubt | undefined => {
  if (fact.type !== 'in_doubt' || fact.next !== 'person') return undefined;
  const { status, doubt } = state;
  const wasAsked = (status === 'escalated' || isDoneAgain(state)) && doubt?.approval !== undefined;
  return wasAsked && fact.epoch > doubt.epoch ? fact : undefined;
};

/** Done again, and failed: recovery has had its say on this attempt, so that whoever wanted it hears of it. */
export const failedAgain = (draft: Draft, node: NodeId, { code, message }: ErrorBody): boolean => {
  const before = nodeState(draft.task(), node);
  if (!isDoneAgain(before)) return false;
  const reason = `done again, and failed: ${code}: ${message}`;
  draft.emit({ type: 'node_escalated', node, attempt: before.attempt, reason });
  letGo(draft, node, before);
  return true;
};

const MAY_BE_DENIED: ReadonlySet<NodeState['status']> = new Set(['running', 'recovering', 'escalated']);

export const denial = ({ status }: NodeState, fact: EffectEvent): NotApplied | undefined =>
  fact.type === 'not_applied' && fact.by === 'person' && MAY_BE_DENIED.has(status) ? fact : undefined;

/** A person has said that it did not happen, and could have said that it is to be done again: so it is not tried again. */
export const denied = (draft: Draft, { node, reason }: NotApplied): void => {
  const { doubt } = nodeState(draft.task(), node);
  const who = doubt?.said === undefined ? reason : `${doubt.said.by} said so`;
  const error = errorBody('EXECUTOR_NOT_APPLIED', `it did not happen: ${who}`);
  finishForGood(draft, node, error);
};
