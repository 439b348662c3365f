import type { ApprovalPolicy } from '@holdpoint/contracts/workflow/approval-policy';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import {
  ada,
  APPROVAL,
  REQUESTED_AT,
  barbara,
  decider,
  decides,
  grace,
  linus,
  requestedBy,
  requestUnder,
} from '../../testing/requests.ts';
import type { Principal } from './state.ts';

const given = specFor(decider);
const under = (policy: ApprovalPolicy, audience: readonly string[] = ['operators']) =>
  requestedBy(requestUnder(policy, { audience: [...audience] }));

describe('an audience', () => {
  const TABLE: readonly (readonly [audience: string, who: Principal, may: boolean])[] = [
    ['user:ada', ada, true],
    ['user:ada', grace, false],
    ['user:operators', ada, false],
    ['operators', ada, true],
    ['group:operators', ada, true],
    ['group:auditors', ada, false],
    ['group:auditors', grace, true],
    ['role:release-manager', barbara, true],
    ['role:release-manager', ada, false],
    ['role:operators', ada, false],
    ['release-manager', barbara, false],
    ['ada', ada, false],
  ];
  test.each(TABLE)('%s: whether $name may decide', (audience, who, may) => {
    const outcome = given(under({}, [audience])).when(decides(who, 'approve'), REQUESTED_AT + 1);
    if (may) outcome.thenEmitsLike({ type: 'resolved', outcome: 'approved', by: who.name });
    else outcome.thenEmitsLike({ type: 'decision_refused' }).thenAnswersError('APPROVALS_NOT_ENTITLED');
  });

  test('an audience with several entries contains anyone in one of them', () => {
    for (const who of [grace, barbara])
      given(under({}, ['user:grace', 'role:release-manager']))
        .when(decides(who, 'reject'), REQUESTED_AT + 1)
        .thenEmitsLike({ outcome: 'rejected', by: who.name });
  });

  test('group names that look like other entries give no access', () => {
    for (const group of ['user:ada', 'role:release-manager'])
      given(under({}, ['user:ada', 'role:release-manager']))
        .when(decides({ name: 'mallory', groups: [group] }, 'approve'), REQUESTED_AT + 1)
        .thenEmitsLike({ type: 'decision_refused', by: 'mallory' })
        .thenAnswersError('APPROVALS_NOT_ENTITLED');
  });
});

describe('four eyes', () => {
  test.each(['approve', 'reject', 'request_changes'] as const)(
    'with four eyes the requester cannot %s',
    (verb) => {
      given(under({ fourEyes: true }))
        .when(decides(linus, verb, {}, 'cli'), REQUESTED_AT + 1)
        .thenEmits({
          type: 'decision_refused',
          id: APPROVAL,
          by: 'linus',
          code: 'APPROVALS_FOUR_EYES',
          surface: 'cli',
          at: REQUESTED_AT + 1,
        })
        .thenAnswersError('APPROVALS_FOUR_EYES');
    },
  );

  test('with four eyes everyone but the requester may decide', () => {
    given(under({ fourEyes: true }))
      .when(decides(ada, 'approve'), REQUESTED_AT + 1)
      .thenEmitsLike({ outcome: 'approved', by: 'ada' });
  });

  test('with four eyes the requester is not part of a quorum', () => {
    const run = runOf(decider, [
      {
        message: { kind: 'request', payload: requestUnder({ fourEyes: true, quorum: 2 }) },
        now: REQUESTED_AT,
      },
      { message: decides(ada, 'approve'), now: REQUESTED_AT + 1 },
      { message: decides(linus, 'approve'), now: REQUESTED_AT + 2 },
    ]);
    expect(eventsOf(run).map(({ type }) => type)).toEqual(['requested', 'voted', 'decision_refused']);
  });

  test('four eyes apply only if the policy sets them', () => {
    given(under({}))
      .when(decides(linus, 'approve'), REQUESTED_AT + 1)
      .thenEmitsLike({ outcome: 'approved', by: 'linus' });
  });
});

describe('choices that a policy excludes', () => {
  test.each([
    [['approve', 'reject'], 'request_changes'],
    [['approve'], 'reject'],
    [['request_changes'], 'approve'],
  ] as const)('an excluded choice of %j is refused with the allowed ones', (decisions, verb) => {
    given(under({ decisions: [...decisions] }))
      .when(decides(ada, verb), REQUESTED_AT + 1)
      .thenRefuses('APPROVALS_NO_CHOICE');
    given(under({ decisions: [...decisions] }))
      .when(decides(ada, decisions[0]), REQUESTED_AT + 1)
      .thenEmitsLike({ type: 'resolved' });
  });
});

describe('refused attempts', () => {
  test('a refused attempt is recorded once per person and reason', () => {
    const run = runOf(decider, [
      { message: { kind: 'request', payload: requestUnder({ fourEyes: true }) }, now: REQUESTED_AT },
      ...Array.from({ length: 5 }, (_, index) => ({
        message: decides(index % 2 === 0 ? linus : { name: 'mallory', groups: [] }, 'approve'),
        now: REQUESTED_AT + 1 + index,
      })),
    ]);
    expect(eventsOf(run)).toMatchObject([
      { type: 'requested' },
      { by: 'linus', code: 'APPROVALS_FOUR_EYES', at: REQUESTED_AT + 1 },
      { by: 'mallory', code: 'APPROVALS_NOT_ENTITLED', at: REQUESTED_AT + 2 },
    ]);
  });

  test('the number of recorded refusals is bounded', () => {
    const run = runOf(decider, [
      { message: { kind: 'request', payload: requestUnder({}) }, now: REQUESTED_AT },
      ...Array.from({ length: 200 }, (_, index) => ({
        message: decides({ name: `mallory-${String(index)}`, groups: [] }, 'approve'),
        now: REQUESTED_AT + 1,
      })),
    ]);
    expect(eventsOf(run).filter(({ type }) => type === 'decision_refused')).toHaveLength(50);
    const codes = run.flatMap(({ made: { answer } }) =>
      answer !== undefined && 'error' in answer ? [answer.error.code] : [],
    );
    expect(codes).toEqual(Array(200).fill('APPROVALS_NOT_ENTITLED'));
  });
});

describe('an agent', () => {
  const agent: Principal = { ...linus, agent: 'claude' };
  const open = () => under({});

  test('an agent never decides on a request of its owner', () => {
    given(open())
      .when(decides(agent, 'approve'), REQUESTED_AT + 1)
      .thenEmits({
        type: 'decision_refused',
        id: APPROVAL,
        by: 'linus',
        agent: 'claude',
        code: 'APPROVALS_FOUR_EYES',
        at: REQUESTED_AT + 1,
      })
      .thenAnswersError('APPROVALS_FOUR_EYES');
  });

  test('an agent never decides on a request of itself or another agent of its owner', () => {
    for (const name of ['claude', 'other'])
      given(requestedBy(requestUnder({}, { audience: ['operators'], agent: name })))
        .when(decides(agent, 'approve'), REQUESTED_AT + 1)
        .thenEmitsLike({ type: 'decision_refused', agent: 'claude' })
        .thenAnswersError('APPROVALS_FOUR_EYES');
  });

  test('a request of an agent counts as its owner’s request for four eyes', () => {
    const asked = (policy: ApprovalPolicy) =>
      requestedBy(requestUnder(policy, { audience: ['operators'], agent: 'claude' }));
    given(asked({ fourEyes: true }))
      .when(decides(linus, 'approve'), REQUESTED_AT + 1)
      .thenAnswersError('APPROVALS_FOUR_EYES');
    given(asked({}))
      .when(decides(linus, 'approve'), REQUESTED_AT + 1)
      .thenEmitsLike({ outcome: 'approved' });
  });

  test('an agent decides on requests of others, and the event names agent and owner', () => {
    given(open())
      .when(decides({ ...ada, agent: 'reviewer' }, 'approve'), REQUESTED_AT + 1)
      .thenEmitsLike({ type: 'resolved', outcome: 'approved', by: 'ada', agent: 'reviewer' });
  });

  test('an agent that repeats its owner’s decision receives the decision that counts', () => {
    const run = runOf(decider, [
      { message: { kind: 'request', payload: requestUnder({}) }, now: REQUESTED_AT },
      { message: decides(linus, 'approve'), now: REQUESTED_AT + 1 },
      { message: decides(agent, 'approve'), now: REQUESTED_AT + 2 },
      { message: decides(linus, 'approve'), now: REQUESTED_AT + 3 },
    ]);
    expect(run.map(({ made: { answer } }) => answer).slice(2)).toMatchObject([
      { error: { code: 'APPROVALS_ALREADY_DECIDED', details: { by: 'linus' } } },
      { ok: { status: 'approved', by: 'linus' } },
    ]);
  });

  test('an agent and its owner count as one person for a quorum', () => {
    const run = runOf(decider, [
      { message: { kind: 'request', payload: requestUnder({ quorum: 2 }) }, now: REQUESTED_AT },
      { message: decides(ada, 'approve'), now: REQUESTED_AT + 1 },
      { message: decides({ ...ada, agent: 'reviewer' }, 'approve'), now: REQUESTED_AT + 2 },
    ]);
    expect(eventsOf(run).map(({ type }) => type)).toEqual(['requested', 'voted']);
  });
});
