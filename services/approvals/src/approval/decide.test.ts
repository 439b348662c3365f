import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import { ApprovalStatus } from '@holdpoint/contracts/approval/status';
import { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import { approvalView } from '../queries/requests.ts';
import { approvalSummary } from '../queries/summary.ts';
import {
  ada,
  APPROVAL,
  REQUESTED_AT,
  cancellation,
  DEADLINE,
  decider,
  effectOf,
  grace,
  mallory,
  requested,
  requestFor,
  resolvedHead,
} from '../../testing/requests.ts';
import type { ApprovalMessage, Principal } from './state.ts';

const given = specFor(decider);
const { digest } = requestFor();
const request = (payload = requestFor()): ApprovalMessage => ({ kind: 'request', payload });
const decide = (
  by: Principal,
  decision: Verb,
  change: { comment?: string; digest?: string } = {},
): ApprovalMessage => ({
  kind: 'decide',
  by,
  payload: { id: APPROVAL, decision, ...change },
});
const cancel: ApprovalMessage = { kind: 'cancel', payload: cancellation };
const expiry: ApprovalMessage = { kind: 'timer', name: 'expiry', data: null };

const rejected = {
  ...resolvedHead,
  outcome: 'rejected',
  by: 'ada',
  comment: undefined,
  surface: undefined,
  digest,
  at: REQUESTED_AT + 1,
} as const;
const expired = {
  ...resolvedHead,
  outcome: 'expired',
  by: 'expiry',
  surface: 'clock',
  comment: 'no decision within 1 minute',
  digest,
  at: DEADLINE,
} as const;
const again = { subject: `hp.evt.approval.resolved.${APPROVAL}`, type: 'dev.holdpoint.approval.resolved.v1' };

describe('a request', () => {
  test('a new request is pending until it expires', () => {
    given().when(request(), REQUESTED_AT).thenEmits(requested).thenTimes({ set: 'expiry', dueAt: DEADLINE });
  });

  test('a repeated pending request changes nothing', () => {
    given(requested)
      .when(request(), REQUESTED_AT + 5_000)
      .thenNothing();
  });

  test('a request repeated after the decision receives the resolution again under a new message id', () => {
    given(requested, rejected)
      .when(request(), 7_000_000)
      .thenEmits()
      .thenSends({ ...again, id: `approval.${APPROVAL}.again.7000000`, data: rejected });
    given(requested, rejected)
      .when(request(), 7_000_001)
      .thenSends({ id: `approval.${APPROVAL}.again.7000001`, data: rejected });
  });

  test.each([
    ['while it is pending', [requested]],
    ['after the decision', [requested, rejected]],
  ])('a request with the same id for another effect is refused %s', (_, history) => {
    given(...history)
      .when(request(requestFor('other line')), REQUESTED_AT + 1)
      .thenRefuses('APPROVALS_DIGEST_MISMATCH');
  });

  const forged: readonly (readonly [what: string, payload: ReturnType<typeof requestFor>])[] = [
    ['a digest that is not of its effect', requestFor('hello', { digest: 'a'.repeat(64) })],
    ['an effect that is not of its digest', requestFor('hello', { effect: effectOf('rm -rf') })],
    ['an effect id that is not of its effect', requestFor('hello', { effectId: requestFor().id as never })],
    ['a task that is not of its effect', requestFor('hello', { task: 't-2' as never })],
    ['a node that is not of its effect', requestFor('hello', { node: 'deploy' as never })],
  ];
  test.each(forged)('a request with %s is refused', (_, payload) => {
    given().when(request(payload), REQUESTED_AT).thenRefuses('APPROVALS_DIGEST_MISMATCH');
    given(requested).when(request(payload), REQUESTED_AT).thenRefuses('APPROVALS_DIGEST_MISMATCH');
  });
});

describe('a decision', () => {
  test.each([
    ['reject', 'rejected'],
    ['request_changes', 'changes_requested'],
  ] as const)('the decision to %s closes the request without a grant', (verb, outcome) => {
    given(requested)
      .when(decide(ada, verb, { comment: 'not today' }), REQUESTED_AT + 1)
      .thenEmits({
        ...resolvedHead,
        outcome,
        by: 'ada',
        comment: 'not today',
        surface: undefined,
        digest,
        at: REQUESTED_AT + 1,
      })
      .thenTimes({ clear: 'expiry' })
      .thenAnswers({ id: APPROVAL, status: outcome, by: 'ada' });
  });

  test('a decision on an unknown approval is refused', () => {
    given().when(decide(ada, 'approve'), REQUESTED_AT).thenRefuses('APPROVALS_UNKNOWN');
  });

  test.each([
    ['in another group', mallory],
    ['in no group', { name: 'ada', groups: [] }],
  ])('a decision of a person outside the audience, %s, is refused and recorded once', (_, who) => {
    const attempt = {
      type: 'decision_refused',
      id: APPROVAL,
      by: who.name,
      code: 'APPROVALS_NOT_ENTITLED',
      surface: undefined,
      at: REQUESTED_AT + 1,
    } as const;
    given(requested)
      .when(decide(who, 'approve'), REQUESTED_AT + 1)
      .thenEmits(attempt)
      .thenTimes()
      .thenAnswersError('APPROVALS_NOT_ENTITLED');
    for (const verb of ['approve', 'reject'] as const)
      given(requested, attempt)
        .when(decide(who, verb), REQUESTED_AT + 2)
        .thenRefuses('APPROVALS_NOT_ENTITLED');
  });

  test('membership in one group of the audience is enough', () => {
    given(requested)
      .when(decide(grace, 'reject'), REQUESTED_AT + 1)
      .thenEmitsLike({ outcome: 'rejected', by: 'grace' });
  });

  test('a decision with another digest is refused', () => {
    given(requested)
      .when(decide(ada, 'approve', { digest: requestFor('other line').digest }), REQUESTED_AT + 1)
      .thenRefuses('APPROVALS_DIGEST_MISMATCH');
  });

  test('a decision with the right digest counts', () => {
    given(requested)
      .when(decide(ada, 'approve', { digest: requestFor().digest }), REQUESTED_AT + 1)
      .thenEmitsLike({ outcome: 'approved' });
  });

  test('a repeated decision of the same person receives the same answer', () => {
    given(requested, rejected)
      .when(decide(ada, 'reject'), DEADLINE + 1)
      .thenNothing()
      .thenAnswers({ id: APPROVAL, status: 'rejected', by: 'ada' });
  });

  test.each([
    ['the same person with another decision', ada, 'approve'],
    ['another person with the same decision', grace, 'reject'],
    ['another person', grace, 'approve'],
    ['an outsider', mallory, 'approve'],
  ] as const)('a late decision of %s receives the decision that counts', (_, who, verb) => {
    given(requested, rejected)
      .when(decide(who, verb), REQUESTED_AT + 2)
      .thenRefuses('APPROVALS_ALREADY_DECIDED');
  });
});

describe('the deadline', () => {
  test('a decision one millisecond before the deadline counts', () => {
    given(requested)
      .when(decide(ada, 'approve'), DEADLINE - 1)
      .thenEmitsLike({ outcome: 'approved', at: DEADLINE - 1 });
  });

  test.each([
    ['at the deadline', 0],
    ['after the deadline', 3_600_000],
  ])('a decision %s expires the request', (_, late) => {
    given(requested)
      .when(decide(ada, 'approve'), DEADLINE + late)
      .thenEmits(expired)
      .thenTimes({ clear: 'expiry' })
      .thenAnswersError('APPROVALS_ALREADY_DECIDED');
  });

  test.each([
    ['at the deadline', 0],
    ['after the deadline', 3_600_000],
  ])('the expiry timer %s closes the request as of the deadline', (_, late) => {
    given(requested)
      .when(expiry, DEADLINE + late)
      .thenEmits(expired)
      .thenTimes({ clear: 'expiry' });
  });

  test('an early expiry timer is set again', () => {
    given(requested)
      .when(expiry, DEADLINE - 1)
      .thenEmits()
      .thenTimes({ set: 'expiry', dueAt: DEADLINE });
  });

  test('a timer after the decision and an unknown timer change nothing', () => {
    given(requested, rejected).when(expiry, DEADLINE).thenNothing();
    given().when(expiry, DEADLINE).thenNothing();
    given(requested).when({ kind: 'timer', name: 'other', data: null }, DEADLINE).thenNothing();
  });
});

describe('a cancellation', () => {
  const cancelled = {
    ...resolvedHead,
    outcome: 'cancelled',
    by: 'orchestrator',
    comment: 'task cancelled',
    at: REQUESTED_AT + 1,
  } as const;
  /** A cancelled request also contains its subject. */
  const closed = { ...cancelled, digest } as const;

  test('a cancellation closes a pending request', () => {
    given(requested)
      .when(cancel, REQUESTED_AT + 1)
      .thenEmits(closed)
      .thenTimes({ clear: 'expiry' });
  });

  test.each([
    ['decided', [requested, rejected], rejected],
    ['expired', [requested, expired], expired],
    ['cancelled', [requested, closed], closed],
    ['cancelled before it was requested', [cancelled], cancelled],
  ])(
    'a cancellation of a request that is %s receives the resolution under a new message id',
    (_, history, end) => {
      for (const now of [DEADLINE + 2, DEADLINE + 3])
        given(...history)
          .when(cancel, now)
          .thenEmits()
          .thenSends({ ...again, id: `approval.${APPROVAL}.again.${String(now)}`, data: end })
          .thenTimes();
    },
  );

  test('a cancellation before its request is remembered', () => {
    given()
      .when(cancel, REQUESTED_AT + 1)
      .thenEmits(cancelled)
      .thenTimes();
    given(cancelled)
      .when(request(), REQUESTED_AT + 2)
      .thenEmits()
      .thenSends({ ...again, data: cancelled })
      .thenTimes();
    given(cancelled)
      .when(request(requestFor('hello', { digest: 'a'.repeat(64) })), REQUESTED_AT + 2)
      .thenRefuses('APPROVALS_DIGEST_MISMATCH');
    given(cancelled)
      .when(decide(ada, 'approve'), REQUESTED_AT + 2)
      .thenRefuses('APPROVALS_ALREADY_DECIDED');
    given(cancelled).when(expiry, DEADLINE).thenNothing();
  });

  test('an incomplete cancellation before its request changes nothing', () => {
    given()
      .when({ kind: 'cancel', payload: { id: APPROVAL, reason: 'task cancelled' } }, REQUESTED_AT)
      .thenNothing();
  });
});

describe('the view for lists', () => {
  const stateAfter = (...history: readonly ApprovalEvent[]) =>
    history.reduce((state, event) => decider.evolve(state, event), decider.initial);

  test('lists show requests with their status, and no withdrawn ones', () => {
    expect(approvalSummary(stateAfter(requested))).toMatchObject({
      status: 'pending',
      view: { status: 'pending', task: requested.task },
    });
    expect(approvalSummary(stateAfter(requested, rejected))).toMatchObject({
      status: 'rejected',
      view: { status: 'rejected', decidedBy: 'ada' },
    });
    const { status, view } = approvalSummary(stateAfter({ ...rejected, outcome: 'cancelled' }));
    expect(view).toBeNull();
    expect(ApprovalStatus.options).not.toContain(status);
  });

  test.each<[string, readonly ApprovalEvent[]]>([
    ['is pending', [requested]],
    ['is decided', [requested, rejected]],
  ])(
    'the stored view of a request that %s completes its event, and repeats none of its content',
    (_, events) => {
      const state = stateAfter(...events);
      if (state.status !== 'pending' && state.status !== 'closed') throw new Error('it has no request');
      const { view } = approvalSummary(state);
      const joined: unknown = JSON.parse(JSON.stringify({ ...requested, ...(view as object) }));
      expect(ApprovalView.parse(joined)).toEqual(
        ApprovalView.parse(JSON.parse(JSON.stringify(approvalView(state)))),
      );
      for (const text of [requested.title, requested.digest])
        expect(JSON.stringify(view)).not.toContain(text);
    },
  );
});
