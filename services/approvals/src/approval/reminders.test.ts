import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, test } from 'vitest';
import {
  ada,
  APPROVAL,
  ASKED,
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
// Out of order on purpose: what comes first is what is due first.
const POLICY = {
  remindMs: [30_000, 10_000],
  handOn: [
    { afterMs: 40_000, audience: ['user:mallory', 'operators'] },
    { afterMs: 20_000, audience: ['role:release-manager', 'user:mallory'] },
  ],
};
const payload = requestUnder(POLICY, { audience: ['user:ada'] });
const asked = requestedBy(payload);
const FIRST = ASKED + 10_000;
const remind = (number: number) => timer('remind', { number });
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

describe('a request that nobody decides', () => {
  test('sets the earliest reminder and the earliest step with its expiry', () => {
    given()
      .when({ kind: 'request', payload }, ASKED)
      .thenEmits(asked)
      .thenTimes(
        { set: 'expiry', dueAt: DEADLINE },
        { set: 'remind', dueAt: FIRST, data: { number: 1 } },
        { set: 'hand_on', dueAt: ASKED + 20_000, data: { number: 1 } },
      );
  });

  test('is reminded of, each reminder setting the next one, the last one none', () => {
    given(asked)
      .when(remind(1), FIRST + 5)
      .thenEmits(reminded(1, FIRST + 5))
      .thenTimes({ set: 'remind', dueAt: ASKED + 30_000, data: { number: 2 } });
    given(asked, reminded(1, FIRST))
      .when(remind(2), ASKED + 30_000)
      .thenEmits(reminded(2, ASKED + 30_000))
      .thenTimes();
  });

  test('is handed on to others as well, and those of before may still decide', () => {
    const first = handedOn(1, STEP_ONE, ASKED + 20_000);
    const second = handedOn(2, [...STEP_ONE, 'operators'], ASKED + 40_000);
    given(asked)
      .when(handOn(1), ASKED + 20_000)
      .thenEmits(first)
      .thenTimes({ set: 'hand_on', dueAt: ASKED + 40_000, data: { number: 2 } });
    given(asked, first)
      .when(handOn(2), ASKED + 40_000)
      .thenEmits(second)
      .thenTimes();
    for (const who of [ada, barbara, mallory])
      given(asked, first)
        .when(decides(who, 'approve'), ASKED + 20_001)
        .thenEmitsLike({ outcome: 'approved', by: who.name });
  });

  test('is nobody else’s before it is handed on, however often they were reminded', () => {
    given(asked, reminded(1, FIRST), reminded(2, ASKED + 30_000))
      .when(decides(barbara, 'approve'), ASKED + 30_001)
      .thenEmitsLike({ type: 'decision_refused', by: 'barbara' })
      .thenAnswersError('APPROVALS_NOT_ENTITLED');
  });
});

describe('a timer', () => {
  test('that comes again changes nothing, and does not take the next one away', () => {
    given(asked, reminded(1, FIRST))
      .when(remind(1), FIRST + 1)
      .thenEmits()
      .thenTimes({ set: 'remind', dueAt: ASKED + 30_000, data: { number: 2 } });
    given(asked, handedOn(1, STEP_ONE, ASKED + 20_000))
      .when(handOn(1), ASKED + 20_001)
      .thenEmits()
      .thenTimes({ set: 'hand_on', dueAt: ASKED + 40_000, data: { number: 2 } });
  });

  test('that comes again after the last of its kind changes nothing', () => {
    given(asked, reminded(1, FIRST), reminded(2, ASKED + 30_000))
      .when(remind(2), ASKED + 30_001)
      .thenEmits()
      .thenTimes({ clear: 'remind' });
  });

  test('that nobody set, of a turn that is not the next one, changes nothing', () => {
    for (const number of [0, 2, 3])
      given(asked)
        .when(handOn(number), ASKED + 45_000)
        .thenEmits()
        .thenTimes({ set: 'hand_on', dueAt: ASKED + 20_000, data: { number: 1 } });
    given(requestedBy(requestFor()))
      .when(remind(1), ASKED + 45_000)
      .thenEmits()
      .thenTimes({ clear: 'remind' });
  });

  test('that comes early is set again, and nobody is asked before his time', () => {
    given(asked)
      .when(remind(1), FIRST - 1)
      .thenEmits()
      .thenTimes({ set: 'remind', dueAt: FIRST, data: { number: 1 } });
    given(asked)
      .when(handOn(1), ASKED + 19_999)
      .thenEmits()
      .thenTimes({ set: 'hand_on', dueAt: ASKED + 20_000, data: { number: 1 } });
  });

  test.each([
    ['remind', remind(1)],
    ['hand_on', handOn(1)],
  ])('%s changes nothing once the request is over, or its time is', (_, message) => {
    const rejected = {
      type: 'resolved',
      id: APPROVAL,
      task: payload.task,
      node: payload.node,
      revision: 1,
      outcome: 'rejected',
      by: 'ada',
      at: ASKED + 1,
    } as const;
    given(asked, rejected).when(message, FIRST).thenNothing();
    given(rejected).when(message, FIRST).thenNothing();
    given().when(message, FIRST).thenNothing();
    given(asked).when(message, DEADLINE).thenNothing();
  });

  test('of each kind is cleared by the decision', () => {
    given(asked)
      .when(decides(ada, 'reject'), ASKED + 1)
      .thenTimes({ clear: 'expiry' }, { clear: 'remind' }, { clear: 'hand_on' });
  });
});

describe('the deadline', () => {
  test.each([
    ['expire', 'expired'],
    ['reject', 'rejected'],
    ['request_changes', 'changes_requested'],
    [undefined, 'expired'],
  ] as const)('comes to what the gate says: %s is %s, by nobody and by the clock', (onExpiry, outcome) => {
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

  test('whoever decides on it is told of its outcome, and has not decided', () => {
    const request = requestedBy(requestUnder({ onExpiry: 'reject' }));
    given(request)
      .when(decides(ada, 'reject'), DEADLINE)
      .thenEmitsLike({ outcome: 'rejected', by: 'expiry' })
      .thenAnswersError('APPROVALS_ALREADY_DECIDED');
  });

  test('comes to nothing but the end of a question about a doubt, whatever the gate says', () => {
    given(requestedBy(questionFor({ policy: { onExpiry: 'reject' } })))
      .when(timer('expiry'), DEADLINE)
      .thenEmitsLike({ outcome: 'expired' });
  });

  test('is that of the request: the first decision of each side stands for the other', () => {
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
    // The clock of the database may step back between two decisions.
    given(request, expired)
      .when(decides(ada, 'approve'), DEADLINE - 1)
      .thenRefuses('APPROVALS_ALREADY_DECIDED');
  });
});
