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
  ASKED,
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

const answeredWith = (answer: InDoubtAnswer, now = ASKED + 1) => {
  const run = runOf(decider, [
    { message: ask, now: ASKED },
    { message: say(ada, answer, 'I looked there'), now },
  ]);
  const resolved = eventsOf(run).at(-1);
  if (resolved?.type !== 'resolved' || resolved.statement === undefined) throw new Error('nothing was said');
  return { ...resolved, statement: resolved.statement };
};

describe('a question about a doubt', () => {
  test.each(InDoubtAnswer.options)('is answered with %s, and signed for that one doubt', (answer) => {
    const resolved = answeredWith(answer);
    expect(resolved).toMatchObject({
      ...resolvedHead,
      outcome: 'answered',
      answer,
      by: 'ada',
      comment: 'I looked there',
      at: ASKED + 1,
    });
    expect(resolved.grant).toBeUndefined();
    const iat = Math.floor((ASKED + 1) / 1_000);
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
  });

  test.each(['approve', 'reject', 'request_changes'] as const)(
    'is not one whether it may run: %s is no choice',
    (choice) => {
      given(questioned)
        .when(say(ada, choice), ASKED + 1)
        .thenRefuses('APPROVALS_NO_CHOICE');
    },
  );

  test('tells nobody outside the audience what could be said', () => {
    for (const choice of ['applied', 'approve'] as const)
      given(questioned)
        .when(say(mallory, choice), ASKED + 1)
        .thenEmitsLike({ type: 'decision_refused', by: 'mallory' })
        .thenAnswersError('APPROVALS_NOT_ENTITLED');
  });

  test('has one answer: the same again is acknowledged, everything later is told what stands', () => {
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
        .when(say(who, choice), ASKED + 2)
        .thenRefuses('APPROVALS_ALREADY_DECIDED');
  });

  test('that has expired is not answered any more', () => {
    given(questioned)
      .when(say(ada, 'applied'), DEADLINE)
      .thenEmitsLike({ type: 'resolved', outcome: 'expired' })
      .thenAnswersError('APPROVALS_ALREADY_DECIDED');
  });

  test('is told again, with its statement, to whoever asks again', () => {
    const answered = answeredWith('retry');
    given(questioned, answered)
      .when(ask, ASKED + 9)
      .thenEmits()
      .thenSends({ data: answered });
  });

  test('is no request for approval of the same effect, nor one about another doubt', () => {
    for (const payload of [requestFor(), questionFor({ doubt: { ...DOUBT, epoch: 5 } })])
      given(questioned)
        .when({ kind: 'request', payload }, ASKED + 1)
        .thenRefuses('APPROVALS_DIGEST_MISMATCH');
  });

  test('is shown with its doubt and, once there is one, with its answer', () => {
    const state = [questioned, answeredWith('not_applied')].reduce(
      (before, event) => decider.evolve(before, event),
      decider.initial,
    );
    if (state.status !== 'closed') throw new Error('it is not closed');
    expect(approvalView(state)).toMatchObject({
      doubt: DOUBT,
      status: 'answered',
      answer: 'not_applied',
      decidedBy: 'ada',
    });
  });
});

test.each(InDoubtAnswer.options)('whether an effect may run is not answered with %s', (answer) => {
  given(requested)
    .when(say(ada, answer), ASKED + 1)
    .thenRefuses('APPROVALS_NO_CHOICE');
});
