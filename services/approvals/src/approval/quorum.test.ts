import type { ApprovalPolicy } from '@holdpoint/contracts/workflow/approval-policy';
import { GrantClaims } from '@holdpoint/contracts/effect/grant';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import {
  ada,
  APPROVAL,
  REQUESTED_AT,
  barbara,
  DEADLINE,
  decider,
  decides,
  grace,
  requestedBy,
  requestFor,
  requestUnder,
  resolvedHead,
  verify,
} from '../../testing/requests.ts';
import type { Principal } from './state.ts';

const given = specFor(decider);
const { digest } = requestFor();
const under = (policy: ApprovalPolicy) => requestedBy(requestUnder(policy));
const TWO = under({ quorum: 2 });
const voted = (by: Principal, decision: 'approve' | 'reject' | 'request_changes', at = REQUESTED_AT + 1) =>
  ({ type: 'voted', id: APPROVAL, by: by.name, decision, surface: undefined, at, digest }) as const;

describe('a quorum of two', () => {
  test('the first vote is recorded, and its answer contains the number of missing ones', () => {
    given(TWO)
      .when(decides(ada, 'approve', { comment: 'read it' }, 'cli'), REQUESTED_AT + 1)
      .thenEmits({ ...voted(ada, 'approve'), comment: 'read it', surface: 'cli' })
      .thenTimes()
      .thenStarts()
      .thenAnswers({ id: APPROVAL, status: 'pending', by: 'ada', approvalsMissing: 1 });
  });

  test('the second vote closes the request with all votes and a grant that names both people', () => {
    const run = runOf(decider, [
      { message: { kind: 'request', payload: requestUnder({ quorum: 2 }) }, now: REQUESTED_AT },
      { message: decides(ada, 'approve', {}, 'cli'), now: REQUESTED_AT + 1 },
      { message: decides(grace, 'approve', { comment: 'fine' }, 'web'), now: REQUESTED_AT + 2 },
    ]);
    const resolved = eventsOf(run).at(-1);
    expect(resolved).toMatchObject({
      ...resolvedHead,
      outcome: 'approved',
      by: 'grace',
      comment: 'fine',
      surface: 'web',
      votes: [
        { by: 'ada', decision: 'approve', surface: 'cli', at: REQUESTED_AT + 1 },
        { by: 'grace', decision: 'approve', comment: 'fine', surface: 'web', at: REQUESTED_AT + 2 },
      ],
      at: REQUESTED_AT + 2,
    });
    const grant = resolved?.type === 'resolved' ? resolved.grant : undefined;
    expect(GrantClaims.parse(verify(grant ?? ''))).toMatchObject({ by: 'ada, grace', digest });
  });

  test('two votes of the same person count once', () => {
    given(TWO, voted(ada, 'approve'))
      .when(decides(ada, 'approve'), REQUESTED_AT + 2)
      .thenNothing()
      .thenAnswers({ status: 'pending', approvalsMissing: 1 });
    given(TWO, voted(ada, 'approve'))
      .when(
        decides({ ...ada, groups: ['auditors', 'operators'] }, 'approve', { comment: 'again' }),
        REQUESTED_AT + 2,
      )
      .thenNothing();
  });

  test('votes of one person on three surfaces count once', () => {
    const run = runOf(decider, [
      { message: { kind: 'request', payload: requestUnder({ quorum: 3 }) }, now: REQUESTED_AT },
      ...(['cli', 'web', 'discord'] as const).map((surface, index) => ({
        message: decides(ada, 'approve', {}, surface),
        now: REQUESTED_AT + 1 + index,
      })),
    ]);
    expect(eventsOf(run).map(({ type }) => type)).toEqual(['requested', 'voted']);
  });

  test('one rejection closes the request and keeps earlier votes', () => {
    given(TWO, voted(ada, 'approve'))
      .when(decides(grace, 'reject', { comment: 'no' }), REQUESTED_AT + 2)
      .thenEmitsLike({
        outcome: 'rejected',
        by: 'grace',
        votes: [
          { by: 'ada', decision: 'approve' },
          { by: 'grace', decision: 'reject', comment: 'no' },
        ],
      })
      .thenTimes({ clear: 'expiry' });
  });

  test('a request for changes closes the request at once', () => {
    given(under({ quorum: 3, veto: false }), voted(ada, 'approve'))
      .when(decides(grace, 'request_changes'), REQUESTED_AT + 2)
      .thenEmitsLike({ outcome: 'changes_requested', by: 'grace' });
  });

  test('after the decision voters receive the same answer again, and others the decision', () => {
    const run = runOf(decider, [
      { message: { kind: 'request', payload: requestUnder({ quorum: 2, veto: false }) }, now: REQUESTED_AT },
      { message: decides(barbara, 'reject'), now: REQUESTED_AT + 1 },
      { message: decides(ada, 'approve'), now: REQUESTED_AT + 2 },
      { message: decides(grace, 'approve'), now: REQUESTED_AT + 3 },
    ]);
    const history = eventsOf(run);
    expect(history.at(-1)).toMatchObject({ outcome: 'approved' });
    for (const who of [ada, grace])
      given(...history)
        .when(decides(who, 'approve'), DEADLINE + 1)
        .thenNothing()
        .thenAnswers({ status: 'approved', by: who.name });
    for (const verb of ['approve', 'reject'] as const)
      given(...history)
        .when(decides(barbara, verb), DEADLINE + 1)
        .thenRefuses('APPROVALS_ALREADY_DECIDED');
  });

  test('a request with one vote expires', () => {
    given(TWO, voted(ada, 'approve'))
      .when(decides(grace, 'approve'), DEADLINE)
      .thenEmitsLike({ outcome: 'expired', at: DEADLINE })
      .thenAnswersError('APPROVALS_ALREADY_DECIDED');
  });

  test('the names of many voters are cut to fit into a grant', () => {
    const people = Array.from({ length: 20 }, (_, index) => ({
      name: `${'名'.repeat(97)}${String(index)}`,
      groups: ['operators'],
    }));
    const run = runOf(decider, [
      { message: { kind: 'request', payload: requestUnder({ quorum: people.length }) }, now: REQUESTED_AT },
      ...people.map((by) => ({ message: decides(by, 'approve'), now: REQUESTED_AT + 1 })),
    ]);
    const resolved = eventsOf(run).at(-1);
    expect(resolved?.type === 'resolved' && resolved.grant?.length).toBeLessThan(4_096);
    expect(resolved).toMatchObject({ outcome: 'approved', votes: { length: people.length } });
  });
});

describe('a changed vote', () => {
  test('the latest vote of a person counts', () => {
    const open = under({ quorum: 2, veto: false });
    given(open, voted(ada, 'approve'))
      .when(decides(ada, 'reject'), REQUESTED_AT + 2)
      .thenEmits(voted(ada, 'reject', REQUESTED_AT + 2))
      .thenAnswers({ status: 'pending', approvalsMissing: 2 });
    given(open, voted(ada, 'approve'), voted(ada, 'reject', REQUESTED_AT + 2))
      .when(decides(grace, 'approve'), REQUESTED_AT + 3)
      .thenEmits(voted(grace, 'approve', REQUESTED_AT + 3))
      .thenAnswers({ status: 'pending', approvalsMissing: 1 });
    given(open, voted(ada, 'reject'), voted(grace, 'approve'))
      .when(decides(ada, 'approve'), REQUESTED_AT + 3)
      .thenEmitsLike({
        outcome: 'approved',
        votes: [
          { by: 'grace', decision: 'approve' },
          { by: 'ada', decision: 'approve' },
        ],
      });
  });

  test('a vote changed to a rejection is a veto', () => {
    given(TWO, voted(ada, 'approve'))
      .when(decides(ada, 'reject'), REQUESTED_AT + 2)
      .thenEmitsLike({ outcome: 'rejected', by: 'ada', votes: [{ by: 'ada', decision: 'reject' }] });
  });
});

describe('without a veto', () => {
  const open = under({ quorum: 2, veto: false });

  test('without a veto a rejection needs the quorum too', () => {
    given(open)
      .when(decides(ada, 'reject'), REQUESTED_AT + 1)
      .thenEmits(voted(ada, 'reject'))
      .thenAnswers({ status: 'pending', approvalsMissing: 2 });
    given(open, voted(ada, 'reject'))
      .when(decides(ada, 'reject'), REQUESTED_AT + 2)
      .thenNothing();
    given(open, voted(ada, 'reject'))
      .when(decides(grace, 'reject'), REQUESTED_AT + 2)
      .thenEmitsLike({ outcome: 'rejected', by: 'grace' });
  });

  test('without a veto one rejection closes a request with a quorum of one', () => {
    given(under({ veto: false }))
      .when(decides(ada, 'reject'), REQUESTED_AT + 1)
      .thenEmitsLike({ outcome: 'rejected' });
  });
});

test('a quorum of one records no votes', () => {
  for (const policy of [{}, { quorum: 1 }])
    given(under(policy))
      .when(decides(ada, 'approve'), REQUESTED_AT + 1)
      .thenEmitsLike({ outcome: 'approved', by: 'ada' });
  const made = runOf(decider, [
    { message: { kind: 'request', payload: requestUnder({ quorum: 1 }) }, now: REQUESTED_AT },
    { message: decides(ada, 'approve'), now: REQUESTED_AT + 1 },
  ]);
  expect(eventsOf(made).at(-1)).not.toHaveProperty('votes');
});
