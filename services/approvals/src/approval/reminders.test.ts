import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, test } from 'vitest';
import {
  ada,
  APPROVAL,
  REQUESTED_AT,
  barbara,
  DEADLINE,
  decider,
  decides,
  mallory,
  questionFor,
  requestedBy,
  requestFor,
  requestUnder,
  timer,
} from '../../testing/requests.ts';

const given = specFor(decider);
// Unordered on purpose: reminders follow their due times.
const POLICY = {
  remindMs: [30_000, 10_000],
  handOn: [
    { afterMs: 40_000, audience: ['user:mallory', 'operators'] },
    { afterMs: 20_000, audience: ['role:release-manager', 'user:mallory'] },
  ],
};
const payload = requestUnder(POLICY, { audience: ['user:ada'] });
const asked = requestedBy(payload);
const FIRST = REQUESTED_AT + 10_000;
const remind = timer('expiry');
const handOn = (number: number) => timer('hand_on', { number });
const reminded = (reminder: number, at: number): ApprovalEvent => ({
  type: 'reminded',
  id: APPROVAL,
  reminder,
  at,
});
const STEP_ONE = ['user:ada', 'role:release-manager', 'user:mallory'];
const handedOn = (step: number, audience: readonly string[], at: number): ApprovalEvent => ({
  type: 'escalated',
  id: APPROVAL,
  step,
  audience: [...audience],
  at,
});

describe('an undecided request', () => {
  test('a request sets one timer for its first reminder and its deadline, and one for its first escalation', () => {
    given()
      .when({ kind: 'request', payload }, REQUESTED_AT)
      .thenEmits(asked)
      .thenTimes(
        { set: 'expiry', dueAt: FIRST },
        { set: 'hand_on', dueAt: REQUESTED_AT + 20_000, data: { number: 1 } },
      );
  });

  test('each reminder sets the next one', () => {
    given(asked)
      .when(remind, FIRST + 5)
      .thenEmits(reminded(1, FIRST + 5))
      .thenTimes({ set: 'expiry', dueAt: REQUESTED_AT + 30_000 });
    given(asked, reminded(1, FIRST))
      .when(remind, REQUESTED_AT + 30_000)
      .thenEmits(reminded(2, REQUESTED_AT + 30_000))
      .thenTimes({ set: 'expiry', dueAt: DEADLINE });
  });

  test('reminders that were due during an outage are sent as one', () => {
    given(asked)
      .when(remind, REQUESTED_AT + 31_000)
      .thenEmits(reminded(2, REQUESTED_AT + 31_000))
      .thenTimes({ set: 'expiry', dueAt: DEADLINE });
  });

  test('a request without a policy is reminded after an hour and after a day', () => {
    const week = requestFor('hello', { timeoutMs: 7 * 86_400_000 });
    given()
      .when({ kind: 'request', payload: week }, REQUESTED_AT)
      .thenTimes({ set: 'expiry', dueAt: REQUESTED_AT + 3_600_000 });
    given(requestedBy(week), reminded(1, REQUESTED_AT + 3_600_000))
      .when(remind, REQUESTED_AT + 86_400_000)
      .thenEmits(reminded(2, REQUESTED_AT + 86_400_000))
      .thenTimes({ set: 'expiry', dueAt: REQUESTED_AT + 7 * 86_400_000 });
  });

  test('a gate may do without reminders', () => {
    const silent = requestUnder({ remindMs: [] }, { timeoutMs: 7 * 86_400_000 });
    given()
      .when({ kind: 'request', payload: silent }, REQUESTED_AT)
      .thenTimes({ set: 'expiry', dueAt: REQUESTED_AT + 7 * 86_400_000 });
  });

  test('an escalation adds people to the audience', () => {
    const first = handedOn(1, STEP_ONE, REQUESTED_AT + 20_000);
    const second = handedOn(2, [...STEP_ONE, 'operators'], REQUESTED_AT + 40_000);
    given(asked)
      .when(handOn(1), REQUESTED_AT + 20_000)
      .thenEmits(first)
      .thenTimes({ set: 'hand_on', dueAt: REQUESTED_AT + 40_000, data: { number: 2 } });
    given(asked, first)
      .when(handOn(2), REQUESTED_AT + 40_000)
      .thenEmits(second)
      .thenTimes();
    for (const who of [ada, barbara, mallory])
      given(asked, first)
        .when(decides(who, 'approve'), REQUESTED_AT + 20_001)
        .thenEmitsLike({ outcome: 'approved', by: who.name });
  });

  test('people of a later escalation may not decide before it', () => {
    given(asked, reminded(1, FIRST), reminded(2, REQUESTED_AT + 30_000))
      .when(decides(barbara, 'approve'), REQUESTED_AT + 30_001)
      .thenEmitsLike({ type: 'decision_refused', by: 'barbara' })
      .thenAnswersError('APPROVALS_NOT_ENTITLED');
  });
});

describe('a timer', () => {
  test('a duplicated timer changes nothing and keeps the next one', () => {
    given(asked, reminded(1, FIRST))
      .when(remind, FIRST + 1)
      .thenEmits()
      .thenTimes({ set: 'expiry', dueAt: REQUESTED_AT + 30_000 });
    given(asked, handedOn(1, STEP_ONE, REQUESTED_AT + 20_000))
      .when(handOn(1), REQUESTED_AT + 20_001)
      .thenEmits()
      .thenTimes({ set: 'hand_on', dueAt: REQUESTED_AT + 40_000, data: { number: 2 } });
  });

  test('a duplicate of the last timer changes nothing', () => {
    given(asked, reminded(1, FIRST), reminded(2, REQUESTED_AT + 30_000))
      .when(remind, REQUESTED_AT + 30_001)
      .thenEmits()
      .thenTimes({ set: 'expiry', dueAt: DEADLINE });
  });

  test('a timer with an unexpected number changes nothing', () => {
    for (const number of [0, 2, 3])
      given(asked)
        .when(handOn(number), REQUESTED_AT + 45_000)
        .thenEmits()
        .thenTimes({ set: 'hand_on', dueAt: REQUESTED_AT + 20_000, data: { number: 1 } });
    given(requestedBy(requestFor()))
      .when(handOn(1), REQUESTED_AT + 45_000)
      .thenEmits()
      .thenTimes({ clear: 'hand_on' });
  });

  test('an early timer is set again and adds nobody', () => {
    given(asked)
      .when(remind, FIRST - 1)
      .thenEmits()
      .thenTimes({ set: 'expiry', dueAt: FIRST });
    given(asked)
      .when(handOn(1), REQUESTED_AT + 19_999)
      .thenEmits()
      .thenTimes({ set: 'hand_on', dueAt: REQUESTED_AT + 20_000, data: { number: 1 } });
  });

  test.each([
    ['expiry', remind, FIRST],
    ['hand_on', handOn(1), DEADLINE],
  ])('the timer %s changes nothing after the decision', (_, message, late) => {
    const rejected = {
      type: 'resolved',
      id: APPROVAL,
      task: payload.task,
      node: payload.node,
      revision: 1,
      outcome: 'rejected',
      by: 'ada',
      at: REQUESTED_AT + 1,
    } as const;
    given(asked, rejected).when(message, FIRST).thenNothing();
    given(rejected).when(message, FIRST).thenNothing();
    given().when(message, FIRST).thenNothing();
    if (late === DEADLINE) given(asked).when(message, DEADLINE).thenNothing();
  });

  test('a decision clears the timers of reminders and escalations', () => {
    given(asked)
      .when(decides(ada, 'reject'), REQUESTED_AT + 1)
      .thenTimes({ clear: 'expiry' }, { clear: 'hand_on' });
  });
});

describe('the deadline', () => {
  test.each([
    ['expire', 'expired'],
    ['reject', 'rejected'],
    ['request_changes', 'changes_requested'],
    [undefined, 'expired'],
  ] as const)('the deadline follows the policy: %s leads to %s by the clock', (onExpiry, outcome) => {
    const request = requestedBy(requestUnder(onExpiry === undefined ? {} : { onExpiry }));
    for (const message of [timer('expiry'), decides(ada, 'approve')])
      given(request)
        .when(message, DEADLINE)
        .thenEmitsLike({ type: 'resolved', outcome, by: 'expiry', surface: 'clock', at: DEADLINE })
        .thenTimes({ clear: 'expiry' });
    given(request)
      .when(decides(ada, 'approve'), DEADLINE - 1)
      .thenEmitsLike({ outcome: 'approved' });
  });

  test('a decision at the deadline receives the outcome of the expiry', () => {
    const request = requestedBy(requestUnder({ onExpiry: 'reject' }));
    given(request)
      .when(decides(ada, 'reject'), DEADLINE)
      .thenEmitsLike({ outcome: 'rejected', by: 'expiry' })
      .thenAnswersError('APPROVALS_ALREADY_DECIDED');
  });

  test('an in-doubt question expires under every policy', () => {
    given(requestedBy(questionFor({ policy: { onExpiry: 'reject' } })))
      .when(timer('expiry'), DEADLINE)
      .thenEmitsLike({ outcome: 'expired' });
  });

  test('reminders and escalations leave the deadline unchanged', () => {
    const request = requestedBy(requestFor());
    const expired = {
      type: 'resolved',
      id: APPROVAL,
      task: payload.task,
      node: payload.node,
      revision: 1,
      outcome: 'expired',
      by: 'expiry',
      surface: 'clock',
      at: DEADLINE,
    } as const;
    // The database's clock may step back between two decisions.
    given(request, expired)
      .when(decides(ada, 'approve'), DEADLINE - 1)
      .thenRefuses('APPROVALS_ALREADY_DECIDED');
  });
});
