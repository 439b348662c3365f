import { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import { type Choice, StuckAnswer } from '@holdpoint/contracts/approval/commands';
import { riskOf } from '@holdpoint/contracts/approval/views';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import { describe, expect, test } from 'vitest';
import { approvalView } from '../queries/requests.ts';
import {
  ada,
  APPROVAL,
  REQUESTED_AT,
  DEADLINE,
  decider,
  decides,
  DOUBT,
  grace,
  mallory,
  questionFor,
  requestFor,
  resolvedHead,
  specOf,
  STUCK,
  stuckRequested,
  stuckFor,
} from '../../testing/requests.ts';
import type { ApprovalMessage } from './state.ts';

const given = specFor(decider);
const ask: ApprovalMessage = { kind: 'request', payload: stuckFor() };

const answeredWith = (answer: StuckAnswer) => {
  const run = runOf(decider, [
    { message: ask, now: REQUESTED_AT },
    { message: decides(ada, answer, { comment: 'I looked at it' }), now: REQUESTED_AT + 1 },
  ]);
  const resolved = eventsOf(run).at(-1);
  if (resolved?.type !== 'resolved') throw new Error('nothing was said');
  return resolved;
};

describe('a question about a stuck job', () => {
  test.each(StuckAnswer.options)('the answer %s about a stuck job is not signed', (answer) => {
    const resolved = answeredWith(answer);
    const said = JSON.parse(JSON.stringify(resolved)) as unknown;
    expect(said).toEqual({
      ...resolvedHead,
      outcome: 'answered',
      answer,
      by: 'ada',
      comment: 'I looked at it',
      digest: stuckFor().digest,
      at: REQUESTED_AT + 1,
    });
    expect(ApprovalEvent.parse(said)).toEqual(said);
  });

  test.each(['approve', 'reject', 'request_changes', 'applied', 'not_applied'] as const)(
    'a question about a stuck job does not take %s',
    (choice) => {
      given(stuckRequested)
        .when(decides(ada, choice), REQUESTED_AT + 1)
        .thenRefuses('APPROVALS_NO_CHOICE');
    },
  );

  test('only the audience answers about a stuck job', () => {
    given(stuckRequested)
      .when(decides(mallory, 'skip'), REQUESTED_AT + 1)
      .thenEmitsLike({ type: 'decision_refused', by: 'mallory' })
      .thenAnswersError('APPROVALS_NOT_ENTITLED');
  });

  test('one person answers about a stuck job, even with a quorum', () => {
    const policy = { quorum: 3, veto: false, decisions: ['approve' as const] };
    given({ ...stuckRequested, policy })
      .when(decides(ada, 'done'), REQUESTED_AT + 1)
      .thenEmitsLike({ type: 'resolved', outcome: 'answered', answer: 'done', by: 'ada' });
  });

  test('an answer about a stuck job creates no rule', () => {
    given(stuckRequested)
      .when(
        decides(ada, 'retry', { remember: specOf({ match: { capability: '*', target: '*' } }) }),
        REQUESTED_AT + 1,
      )
      .thenRefuses('APPROVALS_RULE_REFUSED');
  });

  test('a stuck job has one answer; repeats are acknowledged and later answers refused', () => {
    const answered = answeredWith('skip');
    given(stuckRequested, answered)
      .when(decides(ada, 'skip'), DEADLINE + 1)
      .thenNothing()
      .thenAnswers({ id: APPROVAL, status: 'answered', by: 'ada' });
    for (const [who, choice] of [
      [ada, 'retry'],
      [grace, 'skip'],
      [ada, 'approve'],
    ] as const satisfies readonly (readonly [typeof ada, Choice])[])
      given(stuckRequested, answered)
        .when(decides(who, choice), REQUESTED_AT + 2)
        .thenAnswersError('APPROVALS_ALREADY_DECIDED');
  });

  test('a question about a stuck job expires under every policy', () => {
    given({ ...stuckRequested, policy: { onExpiry: 'reject' } })
      .when({ kind: 'timer', name: 'expiry', data: null }, DEADLINE)
      .thenEmitsLike({ type: 'resolved', outcome: 'expired', surface: 'clock' });
    given(stuckRequested)
      .when(decides(ada, 'retry'), DEADLINE)
      .thenEmitsLike({ type: 'resolved', outcome: 'expired' })
      .thenAnswersError('APPROVALS_ALREADY_DECIDED');
  });

  test('a repeated question about a stuck job receives its answer again', () => {
    const answered = answeredWith('cancel');
    given(stuckRequested, answered)
      .when(ask, REQUESTED_AT + 9)
      .thenEmits()
      .thenSends({ data: answered });
  });

  test('another question about the same job is refused', () => {
    const { stuck: _, ...effect } = stuckFor();
    for (const payload of [effect, { ...effect, inDoubt: DOUBT }, questionFor(), requestFor()])
      given(stuckRequested)
        .when({ kind: 'request', payload }, REQUESTED_AT + 1)
        .thenRefuses('APPROVALS_DIGEST_MISMATCH');
  });

  test('a request about a stuck job and an in-doubt effect is refused', () => {
    given()
      .when({ kind: 'request', payload: questionFor({ stuck: STUCK }) }, REQUESTED_AT)
      .thenRefuses('CONTRACT_INVALID');
  });

  test('the view contains the stuck job, with low risk', () => {
    const state = [stuckRequested, answeredWith('done')].reduce(
      (before, event) => decider.evolve(before, event),
      decider.initial,
    );
    if (state.status !== 'closed') throw new Error('it is not closed');
    expect(approvalView(state)).toMatchObject({
      stuck: STUCK,
      risk: 'low',
      status: 'answered',
      answer: 'done',
      decidedBy: 'ada',
    });
    expect(riskOf(stuckFor().effect)).toBe('low');
  });
});
