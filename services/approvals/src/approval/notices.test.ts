import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import {
  ada,
  APPROVAL,
  REQUESTED_AT,
  DEADLINE,
  decides,
  requestedBy,
  requestFor,
  requestUnder,
  resolvedHead,
  SURFACES,
  withSurfaces,
  timer,
} from '../../testing/requests.ts';
import type { ApprovalMessage } from './state.ts';
import { DELIVERY_ATTEMPTS_MAX } from './notices.ts';

const given = specFor(withSurfaces);
const asked = requestedBy(requestFor());
const { digest } = requestFor();
const which = { surface: 'discord', notice: 'requested', number: 1 } as const;
const name = 'notice/discord/requested/1';
const delivered: ApprovalEvent = {
  type: 'delivered',
  id: APPROVAL,
  ...which,
  reference: 'm-1',
  at: REQUESTED_AT + 1,
};
const tellAgain = (tries: number): ApprovalMessage => timer(name, { ...which, tries });
const rejected: ApprovalEvent = {
  ...resolvedHead,
  outcome: 'rejected',
  by: 'ada',
  digest,
  at: REQUESTED_AT + 1,
};

const deliveries = (notice: 'requested' | 'resolved') =>
  SURFACES.map((surface) => ({ kind: 'deliver', approval: APPROVAL, surface, notice, number: 1 }) as const);
const retries = (notice: 'requested' | 'resolved', dueAt: number, tries: number) =>
  SURFACES.map((surface) => ({
    set: `notice/${surface}/${notice}/1`,
    dueAt,
    data: { surface, notice, number: 1, tries },
  }));

describe('notices to every surface', () => {
  test('a request notifies every surface, and repeats until the surface confirms', () => {
    given()
      .when({ kind: 'request', payload: requestFor() }, REQUESTED_AT)
      .thenEmits(asked)
      .thenTimes({ set: 'expiry', dueAt: DEADLINE }, ...retries('requested', REQUESTED_AT + 30_000, 1))
      .thenStarts(...deliveries('requested'));
  });

  test('a repeated request sends no second notice', () => {
    given(asked)
      .when({ kind: 'request', payload: requestFor() }, REQUESTED_AT + 1)
      .thenNothing();
  });

  test('reminders and escalations notify surfaces with their numbers', () => {
    const policy = { remindMs: [1_000, 2_000], handOn: [{ afterMs: 1_000, audience: ['auditors'] }] };
    const due = requestedBy(requestUnder(policy));
    const work = (notice: 'reminded' | 'escalated', number: number) =>
      SURFACES.map((surface) => ({ kind: 'deliver', approval: APPROVAL, surface, notice, number }) as const);
    given(due, { type: 'reminded', id: APPROVAL, reminder: 1, at: REQUESTED_AT + 1_000 })
      .when(timer('expiry'), REQUESTED_AT + 2_000)
      .thenStarts(...work('reminded', 2));
    given(due)
      .when(timer('hand_on', { number: 1 }), REQUESTED_AT + 1_000)
      .thenStarts(...work('escalated', 1));
  });

  test('every kind of decision notifies surfaces', () => {
    for (const message of [
      decides(ada, 'reject'),
      { kind: 'cancel', payload: { id: APPROVAL, reason: 'over' } } as const,
    ])
      given(asked)
        .when(message, REQUESTED_AT + 1)
        .thenTimes({ clear: 'expiry' }, ...retries('resolved', REQUESTED_AT + 1 + 30_000, 1))
        .thenStarts(...deliveries('resolved'));
    given(asked)
      .when(timer('expiry'), DEADLINE)
      .thenStarts(...deliveries('resolved'));
  });

  test('an expiry found by a late decision notifies surfaces through timers that are due at once', () => {
    given(asked)
      .when(decides(ada, 'approve'), DEADLINE + 7)
      .thenEmitsLike({ outcome: 'expired' })
      .thenTimes({ clear: 'expiry' }, ...retries('resolved', DEADLINE + 7, 0))
      .thenStarts()
      .thenAnswersError('APPROVALS_ALREADY_DECIDED');
    const expired: ApprovalEvent = {
      ...resolvedHead,
      outcome: 'expired',
      by: 'expiry',
      digest,
      at: DEADLINE,
    };
    const data = { surface: 'discord', notice: 'resolved', number: 1 };
    given(asked, expired)
      .when(timer('notice/discord/resolved/1', { ...data, tries: 0 }), DEADLINE + 8)
      .thenTimes({
        set: 'notice/discord/resolved/1',
        dueAt: DEADLINE + 8 + 30_000,
        data: { ...data, tries: 1 },
      })
      .thenStarts({ kind: 'deliver', approval: APPROVAL, surface: 'discord', notice: 'resolved', number: 1 });
  });
});

test('a late expiry sends its notice once and repeats it after the usual delay', () => {
  given(asked)
    .when(timer('expiry'), DEADLINE + 3_600_000)
    .thenEmitsLike({ outcome: 'expired', at: DEADLINE })
    .thenTimes({ clear: 'expiry' }, ...retries('resolved', DEADLINE + 3_600_000 + 30_000, 1))
    .thenStarts(...deliveries('resolved'));
});

describe('a delivered notice', () => {
  const report: ApprovalMessage = { kind: 'delivered', ...which, reference: 'm-1' };

  test('a delivery is recorded with the surface’s reference and not repeated', () => {
    given(asked)
      .when(report, REQUESTED_AT + 1)
      .thenEmits(delivered)
      .thenTimes({ clear: name });
    given(asked, delivered)
      .when(tellAgain(1), REQUESTED_AT + 30_000)
      .thenEmits()
      .thenTimes({ clear: name })
      .thenStarts();
  });

  test('a delivery that is reported twice is recorded once', () => {
    given(asked, delivered)
      .when(report, REQUESTED_AT + 2)
      .thenNothing();
    given(asked, delivered, rejected)
      .when(report, REQUESTED_AT + 2)
      .thenNothing();
  });

  test('a delivery concerns one notice on one surface', () => {
    for (const other of [
      { ...which, surface: 'websocket' },
      { ...which, notice: 'reminded' },
      { ...which, notice: 'reminded', number: 2 },
    ] as const)
      given(asked, delivered)
        .when({ kind: 'delivered', ...other }, REQUESTED_AT + 2)
        .thenEmitsLike({ type: 'delivered', ...other });
  });

  test('a delivery for a withdrawn or unknown request is ignored', () => {
    given().when(report, REQUESTED_AT).thenNothing();
    given({ ...rejected, outcome: 'cancelled' })
      .when(report, REQUESTED_AT)
      .thenNothing();
  });

  test('a delivery that overlaps with the decision is recorded', () => {
    given(asked, rejected)
      .when(report, REQUESTED_AT + 2)
      .thenEmitsLike({ type: 'delivered', surface: 'discord' });
  });
});

describe('an unavailable surface', () => {
  test('delivery is retried with doubling delays of at most an hour', () => {
    const delays = Array.from({ length: DELIVERY_ATTEMPTS_MAX - 1 }, (_, tries) => {
      const now = REQUESTED_AT + tries;
      const made = withSurfaces.decide(
        { ...withSurfaces.evolve(withSurfaces.initial, asked) },
        tellAgain(tries + 1),
        {
          now,
        },
      );
      expect(made.work).toEqual([{ kind: 'deliver', approval: APPROVAL, ...which }]);
      const [set] = made.timers;
      expect(set).toMatchObject({ set: name, data: { ...which, tries: tries + 2 } });
      return set !== undefined && 'set' in set ? set.dueAt - now : 0;
    });
    const minutes = delays.map((ms) => ms / 60_000);
    expect(minutes.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(new Set(minutes.slice(8))).toEqual(new Set([60]));
  });

  const failed: ApprovalEvent = {
    type: 'delivery_failed',
    id: APPROVAL,
    ...which,
    problem: `gave up after ${String(DELIVERY_ATTEMPTS_MAX)} attempts`,
    at: REQUESTED_AT + 9,
  };

  test('delivery is given up after the last attempt, with an event', () => {
    given(asked)
      .when(tellAgain(DELIVERY_ATTEMPTS_MAX), REQUESTED_AT + 9)
      .thenEmits(failed)
      .thenTimes({ clear: name })
      .thenStarts();
  });

  test('delivery is given up only once', () => {
    given(asked, failed)
      .when(tellAgain(DELIVERY_ATTEMPTS_MAX), REQUESTED_AT + 10)
      .thenEmits()
      .thenTimes({ clear: name })
      .thenStarts();
  });

  test('the notice of a request is dropped after the decision', () => {
    given(asked, rejected)
      .when(tellAgain(3), REQUESTED_AT + 9)
      .thenEmits()
      .thenTimes({ clear: name })
      .thenStarts();
  });

  test('the notice of the decision is delivered even after others were given up', () => {
    const resolved = { surface: 'discord', notice: 'resolved', number: 1 };
    given(asked, rejected)
      .when(timer('notice/discord/resolved/1', { ...resolved, tries: 2 }), REQUESTED_AT + 9)
      .thenStarts({ kind: 'deliver', approval: APPROVAL, surface: 'discord', notice: 'resolved', number: 1 });
  });
});
