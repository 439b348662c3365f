import type { ApprovalPolicy } from '@holdpoint/contracts/workflow/approval-policy';
import { GrantClaims } from '@holdpoint/contracts/effect/grant';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import {
  ada,
  APPROVAL,
  ASKED,
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
const voted = (by: Principal, decision: 'approve' | 'reject' | 'request_changes', at = ASKED + 1) =>
  ({ type: 'voted', id: APPROVAL, by: by.name, decision, surface: undefined, at, digest }) as const;

describe('where two people have to approve', () => {
  test('the first is kept, and told how many it still takes', () => {
    given(TWO)
      .when(decides(ada, 'approve', { comment: 'read it' }, 'cli'), ASKED + 1)
      .thenEmits({ ...voted(ada, 'approve'), comment: 'read it', surface: 'cli' })
      .thenTimes()
      .thenStarts()
      .thenAnswers({ id: APPROVAL, status: 'pending', by: 'ada', missing: 1 });
  });

  test('the second closes it, with everybody whose word counted, and a grant that names both', () => {
    const run = runOf(decider, [
      { message: { kind: 'request', payload: requestUnder({ quorum: 2 }) }, now: ASKED },
      { message: decides(ada, 'approve', {}, 'cli'), now: ASKED + 1 },
      { message: decides(grace, 'approve', { comment: 'fine' }, 'web'), now: ASKED + 2 },
    ]);
    const resolved = eventsOf(run).at(-1);
    expect(resolved).toMatchObject({
      ...resolvedHead,
      outcome: 'approved',
      by: 'grace',
      comment: 'fine',
      surface: 'web',
      votes: [
        { by: 'ada', decision: 'approve', surface: 'cli', at: ASKED + 1 },
        { by: 'grace', decision: 'approve', comment: 'fine', surface: 'web', at: ASKED + 2 },
      ],
      at: ASKED + 2,
    });
    const grant = resolved?.type === 'resolved' ? resolved.grant : undefined;
    expect(GrantClaims.parse(verify(grant ?? ''))).toMatchObject({ by: 'ada, grace', digest });
  });

  test('the same person twice is one of them', () => {
    given(TWO, voted(ada, 'approve'))
      .when(decides(ada, 'approve'), ASKED + 2)
      .thenNothing()
      .thenAnswers({ status: 'pending', missing: 1 });
    given(TWO, voted(ada, 'approve'))
      .when(
        decides({ ...ada, groups: ['auditors', 'operators'] }, 'approve', { comment: 'again' }),
        ASKED + 2,
      )
      .thenNothing();
  });

  test('the same person in three places is one of them', () => {
    const run = runOf(decider, [
      { message: { kind: 'request', payload: requestUnder({ quorum: 3 }) }, now: ASKED },
      ...(['cli', 'web', 'discord'] as const).map((surface, index) => ({
        message: decides(ada, 'approve', {}, surface),
        now: ASKED + 1 + index,
      })),
    ]);
    expect(eventsOf(run).map(({ type }) => type)).toEqual(['requested', 'voted']);
  });

  test('one rejection ends it, and nothing that was said before is lost', () => {
    given(TWO, voted(ada, 'approve'))
      .when(decides(grace, 'reject', { comment: 'no' }), ASKED + 2)
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

  test('whoever wants changes is heard at once', () => {
    given(under({ quorum: 3, veto: false }), voted(ada, 'approve'))
      .when(decides(grace, 'request_changes'), ASKED + 2)
      .thenEmitsLike({ outcome: 'changes_requested', by: 'grace' });
  });

  test('those who have approved are answered the same again, those who have not are told what stands', () => {
    const run = runOf(decider, [
      { message: { kind: 'request', payload: requestUnder({ quorum: 2, veto: false }) }, now: ASKED },
      { message: decides(barbara, 'reject'), now: ASKED + 1 },
      { message: decides(ada, 'approve'), now: ASKED + 2 },
      { message: decides(grace, 'approve'), now: ASKED + 3 },
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

  test('one is not enough by the deadline', () => {
    given(TWO, voted(ada, 'approve'))
      .when(decides(grace, 'approve'), DEADLINE)
      .thenEmitsLike({ outcome: 'expired', at: DEADLINE })
      .thenAnswersError('APPROVALS_ALREADY_DECIDED');
  });

  test('what many people are called still fits into a grant', () => {
    const people = Array.from({ length: 20 }, (_, index) => ({
      name: `${'名'.repeat(97)}${String(index)}`,
      groups: ['operators'],
    }));
    const run = runOf(decider, [
      { message: { kind: 'request', payload: requestUnder({ quorum: people.length }) }, now: ASKED },
      ...people.map((by) => ({ message: decides(by, 'approve'), now: ASKED + 1 })),
    ]);
    const resolved = eventsOf(run).at(-1);
    expect(resolved?.type === 'resolved' && resolved.grant?.length).toBeLessThan(4_096);
    expect(resolved).toMatchObject({ outcome: 'approved', votes: { length: people.length } });
  });
});

describe('a mind that is changed before the decision', () => {
  test('counts as it was changed', () => {
    const open = under({ quorum: 2, veto: false });
    given(open, voted(ada, 'approve'))
      .when(decides(ada, 'reject'), ASKED + 2)
      .thenEmits(voted(ada, 'reject', ASKED + 2))
      .thenAnswers({ status: 'pending', missing: 2 });
    given(open, voted(ada, 'approve'), voted(ada, 'reject', ASKED + 2))
      .when(decides(grace, 'approve'), ASKED + 3)
      .thenEmits(voted(grace, 'approve', ASKED + 3))
      .thenAnswers({ status: 'pending', missing: 1 });
    given(open, voted(ada, 'reject'), voted(grace, 'approve'))
      .when(decides(ada, 'approve'), ASKED + 3)
      .thenEmitsLike({
        outcome: 'approved',
        votes: [
          { by: 'grace', decision: 'approve' },
          { by: 'ada', decision: 'approve' },
        ],
      });
  });

  test('is a veto where there is one', () => {
    given(TWO, voted(ada, 'approve'))
      .when(decides(ada, 'reject'), ASKED + 2)
      .thenEmitsLike({ outcome: 'rejected', by: 'ada', votes: [{ by: 'ada', decision: 'reject' }] });
  });
});

describe('without a veto', () => {
  const open = under({ quorum: 2, veto: false });

  test('a rejection takes as many people as an approval would', () => {
    given(open)
      .when(decides(ada, 'reject'), ASKED + 1)
      .thenEmits(voted(ada, 'reject'))
      .thenAnswers({ status: 'pending', missing: 2 });
    given(open, voted(ada, 'reject'))
      .when(decides(ada, 'reject'), ASKED + 2)
      .thenNothing();
    given(open, voted(ada, 'reject'))
      .when(decides(grace, 'reject'), ASKED + 2)
      .thenEmitsLike({ outcome: 'rejected', by: 'grace' });
  });

  test('one person decides where one is enough', () => {
    given(under({ veto: false }))
      .when(decides(ada, 'reject'), ASKED + 1)
      .thenEmitsLike({ outcome: 'rejected' });
  });
});

test('where one person is enough, nobody is counted', () => {
  for (const policy of [{}, { quorum: 1 }])
    given(under(policy))
      .when(decides(ada, 'approve'), ASKED + 1)
      .thenEmitsLike({ outcome: 'approved', by: 'ada' });
  const made = runOf(decider, [
    { message: { kind: 'request', payload: requestUnder({ quorum: 1 }) }, now: ASKED },
    { message: decides(ada, 'approve'), now: ASKED + 1 },
  ]);
  expect(eventsOf(made).at(-1)).not.toHaveProperty('votes');
});
