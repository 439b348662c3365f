import {
  type ApprovalEvent,
  ApprovalEvent as ApprovalEventSchema,
} from '@holdpoint/contracts/approval/events';
import { GrantClaims } from '@holdpoint/contracts/effect/grant';
import { rememberedIdOf } from '@holdpoint/contracts/values/ids';
import { asSent } from '@holdpoint/contracts/values/json';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import { historyOf, specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import {
  ada,
  admitted,
  APPROVAL,
  REQUESTED_AT,
  DEADLINE,
  decider,
  decides,
  effectOf,
  grace,
  linus,
  mallory,
  MATCH,
  OTHER_RULE,
  questionFor,
  requested,
  requestedBy,
  requestFor,
  requestUnder,
  resolvedHead,
  RULE,
  specOf,
  stuckFor,
  timer,
  verify,
} from '../../testing/requests.ts';
import type { ApprovalMessage } from './state.ts';

const given = specFor(decider);
const { digest } = requestFor();
const AGAIN_MS = 5_000;
const applies: ApprovalMessage = { kind: 'rule_applies', rule: RULE, author: 'ada' };
const asks = (rules: readonly (typeof RULE)[] = [RULE, OTHER_RULE]): ApprovalMessage => ({
  kind: 'request',
  payload: requestFor(),
  rules,
});
const askTimer = (tries: number): ApprovalMessage => timer('rules', { rules: [RULE, OTHER_RULE], tries });
const asking = {
  kind: 'use_rule',
  rule: RULE,
  approval: admitted(requestFor()),
  rest: [OTHER_RULE],
} as const;
const rejected: ApprovalEvent = {
  ...resolvedHead,
  outcome: 'rejected',
  by: 'ada',
  digest,
  at: REQUESTED_AT + 1,
};

describe('standing rules', () => {
  test('matching rules are asked one after another while people are notified', () => {
    given()
      .when(asks(), REQUESTED_AT)
      .thenEmits(requested)
      .thenTimes(
        { set: 'expiry', dueAt: DEADLINE },
        { set: 'rules', dueAt: REQUESTED_AT + AGAIN_MS, data: { rules: [RULE, OTHER_RULE], tries: 1 } },
      )
      .thenStarts(asking);
  });

  test('a repeated request does not ask the rules again', () => {
    given(requested)
      .when(asks(), REQUESTED_AT + 1)
      .thenNothing();
  });

  test('rules are asked again a limited number of times while the request is pending', () => {
    for (const tries of [1, 2, 3, 4])
      given(requested)
        .when(askTimer(tries), REQUESTED_AT + tries)
        .thenEmits()
        .thenTimes({
          set: 'rules',
          dueAt: REQUESTED_AT + tries + AGAIN_MS,
          data: { rules: [RULE, OTHER_RULE], tries: tries + 1 },
        })
        .thenStarts(asking);
    given(requested)
      .when(askTimer(5), REQUESTED_AT + 9)
      .thenEmits()
      .thenTimes({ clear: 'rules' })
      .thenStarts();
  });

  test('rules are not asked after the decision', () => {
    given(requested, rejected)
      .when(askTimer(1), REQUESTED_AT + 9)
      .thenEmits()
      .thenTimes({ clear: 'rules' })
      .thenStarts();
  });
});

describe('a standing rule', () => {
  test('a rule approves with its id, its author and a grant', () => {
    const run = runOf(decider, [
      { message: asks(), now: REQUESTED_AT },
      { message: applies, now: REQUESTED_AT + 7 },
    ]);
    const resolved = eventsOf(run).at(-1);
    expect(resolved).toMatchObject({
      ...resolvedHead,
      outcome: 'approved',
      by: `rule ${RULE} of ada`,
      surface: 'rule',
      rule: RULE,
      digest,
      at: REQUESTED_AT + 7,
    });
    const grant = resolved?.type === 'resolved' ? resolved.grant : undefined;
    expect(GrantClaims.parse(verify(grant ?? ''))).toMatchObject({ by: `rule ${RULE} of ada`, digest });
    expect(ApprovalEventSchema.safeParse(resolved).success).toBe(true);
  });

  test('a later person learns which rule has decided', () => {
    const history = historyOf(decider, [asks(), REQUESTED_AT], [applies, REQUESTED_AT + 1]);
    given(...history)
      .when(applies, REQUESTED_AT + 2)
      .thenNothing();
    for (const who of [ada, grace])
      given(...history)
        .when(decides(who, 'approve'), REQUESTED_AT + 2)
        .thenRefuses('APPROVALS_ALREADY_DECIDED');
  });

  test.each([
    ['after a person', [requested, rejected], REQUESTED_AT + 2],
    ['after the deadline', [requested], DEADLINE],
    ['before the request', [], REQUESTED_AT],
    ['on a withdrawn request', [{ ...rejected, outcome: 'cancelled' } as const], REQUESTED_AT],
  ])('a rule does not decide %s', (_, history, now) => {
    given(...history)
      .when(applies, now)
      .thenNothing();
  });

  test('a rule does not decide on its author’s request with four eyes', () => {
    given(requestedBy(requestUnder({ fourEyes: true })))
      .when({ ...applies, author: 'linus' }, REQUESTED_AT + 1)
      .thenNothing();
  });

  // The rule has checked this; the approval checks again.
  test.each([
    ['a deploy', requestFor('hello', { effect: { ...effectOf('hello'), kind: 'deploy' } })],
    ['a merge', requestFor('hello', { effect: { ...effectOf('hello'), kind: 'merge' } })],
    [
      'a destructive edit',
      requestFor('hello', { effect: { ...effectOf('hello'), kind: 'destructive_edit' } }),
    ],
    ['an in-doubt effect', questionFor()],
    ['a stuck job', stuckFor()],
    ['a request whose policy excludes rules', requestUnder({ rules: false })],
    ['a request with a quorum of two', requestUnder({ quorum: 2 })],
    ['a request without the choice to approve', requestUnder({ decisions: ['reject'] })],
  ])('a rule never decides on %s', (_, request) => {
    given(requestedBy(request))
      .when(applies, REQUESTED_AT + 1)
      .thenNothing();
  });
});

describe('a rule created with a decision', () => {
  const spec = specOf({ usesMax: 20 });
  const kept = rememberedIdOf(APPROVAL);
  const rule = { rule: kept, spec, from: APPROVAL, author: { name: 'ada', groups: ['operators'] } };
  const keep = { kind: 'keep_rule', ...rule } as const;
  const data = asSent(rule);
  const remembering = decides(ada, 'approve', { remember: spec });
  const approved = historyOf(decider, [asks([]), REQUESTED_AT], [remembering, REQUESTED_AT + 1]);

  test('the decision names the rule, and the command repeats until the rule exists', () => {
    given(requested)
      .when(remembering, REQUESTED_AT + 1)
      .thenEmitsLike({ outcome: 'approved', by: 'ada', remembered: kept })
      .thenTimes(
        { clear: 'expiry' },
        { set: 'outcome', dueAt: REQUESTED_AT + 1 + 120_000, data: { asks: 1 } },
        { set: 'keep_rule', dueAt: REQUESTED_AT + 1 + AGAIN_MS, data },
      )
      .thenStarts({ ...keep, author: ada })
      .thenAnswers({ status: 'approved', remembered: kept });
    given(...approved)
      .when(timer('keep_rule', data), REQUESTED_AT + 6_000)
      .thenEmits()
      .thenTimes({ set: 'keep_rule', dueAt: REQUESTED_AT + 6_000 + AGAIN_MS, data })
      .thenStarts(keep);
    given(...approved)
      .when({ kind: 'rule_kept' }, REQUESTED_AT + 6_001)
      .thenEmits()
      .thenTimes({ clear: 'keep_rule' })
      .thenStarts();
  });

  test('a repeated decision receives the rule’s id again', () => {
    given(...approved)
      .when(remembering, REQUESTED_AT + 9)
      .thenNothing()
      .thenAnswers({ status: 'approved', remembered: kept });
  });

  test.each([
    ['a rejection', requested, decides(ada, 'reject', { remember: spec })],
    [
      'a rule that does not match',
      requested,
      decides(ada, 'approve', { remember: specOf({ match: { ...MATCH, target: 'file:other' } }) }),
    ],
    ['a quorum of more than one', requestedBy(requestUnder({ quorum: 2 })), remembering],
    ['a policy that excludes rules', requestedBy(requestUnder({ rules: false })), remembering],
    [
      'a deploy',
      requestedBy(requestFor('hello', { effect: { ...effectOf('hello'), kind: 'deploy' } })),
      decides(ada, 'approve', { remember: specOf({ match: { capability: '*', target: 'file:*' } }) }),
    ],
  ])('remembering a rule is refused for %s, and the request stays pending', (_, request, message) => {
    given(request)
      .when(message, REQUESTED_AT + 1)
      .thenRefuses('APPROVALS_RULE_REFUSED');
  });

  test('a person outside the audience cannot remember a rule', () => {
    given(requested)
      .when(decides(mallory, 'approve', { remember: spec }), REQUESTED_AT + 1)
      .thenAnswersError('APPROVALS_NOT_ENTITLED');
    given(requestedBy(requestUnder({ fourEyes: true })))
      .when(decides(linus, 'approve', { remember: spec }), REQUESTED_AT + 1)
      .thenAnswersError('APPROVALS_FOUR_EYES');
  });

  test('remembering a rule needs the scope rules:write', () => {
    const deciding = { ...ada, scopes: ['approvals:read', 'approvals:decide'] as const };
    given(requested)
      .when(decides(deciding, 'approve', { remember: spec }), REQUESTED_AT + 1)
      .thenRefuses('APPROVALS_SCOPE');
    given(requested)
      .when(decides(deciding, 'approve'), REQUESTED_AT + 1)
      .thenEmitsLike({ outcome: 'approved' });
    given(requested)
      .when(
        decides({ ...ada, scopes: ['approvals:decide', 'rules:write'] }, 'approve', { remember: spec }),
        REQUESTED_AT + 1,
      )
      .thenEmitsLike({ outcome: 'approved', remembered: kept });
  });
});
