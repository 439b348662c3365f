import { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { Choice } from '@holdpoint/contracts/approval/commands';
import { AnswerClaims, InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import { approvalView } from '../queries/requests.ts';
import {
  ada,
  APPROVAL,
  REQUESTED_AT,
  DEADLINE,
  decider,
  DOUBT,
  grace,
  mallory,
  questioned,
  questionFor,
  requested,
  requestFor,
  resolvedHead,
  verify,
} from '../../testing/requests.ts';
import type { ApprovalMessage, Principal } from './state.ts';

const given = specFor(decider);
const HOUR_S = 3_600;
const say = (by: Principal, decision: Choice, comment?: string): ApprovalMessage => ({
  kind: 'decide',
  by,
  payload: { id: APPROVAL, decision, ...(comment !== undefined && { comment }) },
});
const ask: ApprovalMessage = { kind: 'request', payload: questionFor() };

const answeredWith = (answer: InDoubtAnswer, now = REQUESTED_AT + 1) => {
  const run = runOf(decider, [
    { message: ask, now: REQUESTED_AT },
    { message: say(ada, answer, 'I looked there'), now },
  ]);
  const resolved = eventsOf(run).at(-1);
  if (resolved?.type !== 'resolved' || resolved.statement === undefined) throw new Error('nothing was said');
  return { ...resolved, statement: resolved.statement };
};

describe('a question about an in-doubt effect', () => {
  test.each(InDoubtAnswer.options)(
    'the answer %s to an in-doubt question is signed for that epoch',
    (answer) => {
      const resolved = answeredWith(answer);
      expect(resolved).toMatchObject({
        ...resolvedHead,
        outcome: 'answered',
        answer,
        by: 'ada',
        comment: 'I looked there',
        at: REQUESTED_AT + 1,
      });
      expect(resolved.grant).toBeUndefined();
      const iat = Math.floor((REQUESTED_AT + 1) / 1_000);
      expect(AnswerClaims.parse(verify(resolved.statement))).toEqual({
        use: 'answer',
        jti: APPROVAL,
        sub: questionFor().effectId,
        digest: questionFor().digest,
        epoch: DOUBT.epoch,
        answer,
        by: 'ada',
        iat,
        exp: iat + HOUR_S,
      });
      expect(ApprovalEvent.parse(JSON.parse(JSON.stringify(resolved)))).toEqual(
        JSON.parse(JSON.stringify(resolved)),
      );
    },
  );

  test.each(['approve', 'reject', 'request_changes'] as const)(
    'is not one whether it may run: %s is no choice',
    (choice) => {
      given(questioned)
        .when(say(ada, choice), REQUESTED_AT + 1)
        .thenRefuses('APPROVALS_NO_CHOICE');
    },
  );

  test('a person outside the audience does not learn the choices', () => {
    for (const choice of ['applied', 'approve'] as const)
      given(questioned)
        .when(say(mallory, choice), REQUESTED_AT + 1)
        .thenEmitsLike({ type: 'decision_refused', by: 'mallory' })
        .thenAnswersError('APPROVALS_NOT_ENTITLED');
  });

  test('an in-doubt question has one answer; repeats are acknowledged and later answers refused', () => {
    const answered = answeredWith('applied');
    given(questioned, answered)
      .when(say(ada, 'applied'), DEADLINE + 1)
      .thenNothing()
      .thenAnswers({ id: APPROVAL, status: 'answered', by: 'ada' });
    for (const [who, choice] of [
      [ada, 'retry'],
      [ada, 'not_applied'],
      [grace, 'applied'],
      [ada, 'approve'],
    ] as const)
      given(questioned, answered)
        .when(say(who, choice), REQUESTED_AT + 2)
        .thenRefuses('APPROVALS_ALREADY_DECIDED');
  });

  test('an expired in-doubt question takes no answer', () => {
    given(questioned)
      .when(say(ada, 'applied'), DEADLINE)
      .thenEmitsLike({ type: 'resolved', outcome: 'expired' })
      .thenAnswersError('APPROVALS_ALREADY_DECIDED');
  });

  test('a repeated in-doubt question receives the signed answer again', () => {
    const answered = answeredWith('retry');
    given(questioned, answered)
      .when(ask, REQUESTED_AT + 9)
      .thenEmits()
      .thenSends({ data: answered });
  });

  test('an in-doubt question differs from a request for the same effect and from another epoch', () => {
    for (const payload of [requestFor(), questionFor({ inDoubt: { ...DOUBT, epoch: 5 } })])
      given(questioned)
        .when({ kind: 'request', payload }, REQUESTED_AT + 1)
        .thenRefuses('APPROVALS_DIGEST_MISMATCH');
  });

  test('the view contains the in-doubt effect and its answer', () => {
    const state = [questioned, answeredWith('not_applied')].reduce(
      (before, event) => decider.evolve(before, event),
      decider.initial,
    );
    if (state.status !== 'closed') throw new Error('it is not closed');
    expect(approvalView(state)).toMatchObject({
      inDoubt: DOUBT,
      status: 'answered',
      answer: 'not_applied',
      decidedBy: 'ada',
    });
  });
});

test.each(InDoubtAnswer.options)('a request to run an effect does not take the answer %s', (answer) => {
  given(requested)
    .when(say(ada, answer), REQUESTED_AT + 1)
    .thenRefuses('APPROVALS_NO_CHOICE');
});
