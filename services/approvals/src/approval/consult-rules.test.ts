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
  APPROVAL,
  ASKED,
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
const asking = { kind: 'use_rule', rule: RULE, approval: requestFor(), rest: [OTHER_RULE] } as const;
const rejected: ApprovalEvent = { ...resolvedHead, outcome: 'rejected', by: 'ada', digest, at: ASKED + 1 };

describe('standing rules', () => {
  test('that seem to fit a request are asked, one after the other, while people are asked as well', () => {
    given()
      .when(asks(), ASKED)
      .thenEmits(requested)
      .thenTimes(
        { set: 'expiry', dueAt: DEADLINE },
        { set: 'rules', dueAt: ASKED + AGAIN_MS, data: { rules: [RULE, OTHER_RULE], tries: 1 } },
      )
      .thenStarts(asking);
  });

  test('are asked once for a request that comes again', () => {
    given(requested)
      .when(asks(), ASKED + 1)
      .thenNothing();
  });

  test('are asked again while nothing is decided, and not for ever', () => {
    for (const tries of [1, 2, 3, 4])
      given(requested)
        .when(askTimer(tries), ASKED + tries)
        .thenEmits()
        .thenTimes({
          set: 'rules',
          dueAt: ASKED + tries + AGAIN_MS,
          data: { rules: [RULE, OTHER_RULE], tries: tries + 1 },
        })
        .thenStarts(asking);
    given(requested)
      .when(askTimer(5), ASKED + 9)
      .thenEmits()
      .thenTimes({ clear: 'rules' })
      .thenStarts();
  });

  test('are not asked any more once it is decided', () => {
    given(requested, rejected)
      .when(askTimer(1), ASKED + 9)
      .thenEmits()
      .thenTimes({ clear: 'rules' })
      .thenStarts();
  });
});

describe('a standing rule', () => {
  test('decides as its author would: with its name, its author and a grant that says so', () => {
    const run = runOf(decider, [
      { message: asks(), now: ASKED },
      { message: applies, now: ASKED + 7 },
    ]);
    const resolved = eventsOf(run).at(-1);
    expect(resolved).toMatchObject({
      ...resolvedHead,
      outcome: 'approved',
      by: `rule ${RULE} of ada`,
      surface: 'rule',
      rule: RULE,
      digest,
      at: ASKED + 7,
    });
    const grant = resolved?.type === 'resolved' ? resolved.grant : undefined;
    expect(GrantClaims.parse(verify(grant ?? ''))).toMatchObject({ by: `rule ${RULE} of ada`, digest });
    expect(ApprovalEventSchema.safeParse(resolved).success).toBe(true);
  });

  test('decides once, and a person who comes later is told which rule it was', () => {
    const history = historyOf(decider, [asks(), ASKED], [applies, ASKED + 1]);
    given(...history)
      .when(applies, ASKED + 2)
      .thenNothing();
    for (const who of [ada, grace])
      given(...history)
        .when(decides(who, 'approve'), ASKED + 2)
        .thenRefuses('APPROVALS_ALREADY_DECIDED');
  });

  test.each([
    ['after a person has', [requested, rejected], ASKED + 2],
    ['after its time', [requested], DEADLINE],
    ['before anything is asked', [], ASKED],
    ['on what was withdrawn', [{ ...rejected, outcome: 'cancelled' } as const], ASKED],
  ])('does not decide %s', (_, history, now) => {
    given(...history)
      .when(applies, now)
      .thenNothing();
  });

  test('does not decide where the gate wants four eyes, and its author has asked', () => {
    given(requestedBy(requestUnder({ fourEyes: true })))
      .when({ ...applies, author: 'linus' }, ASKED + 1)
      .thenNothing();
  });

  // A rule looks at all of that before it lets itself be used. Whoever grants looks again.
  test.each([
    ['a deploy', requestFor('hello', { effect: { ...effectOf('hello'), kind: 'deploy' } })],
    ['a merge', requestFor('hello', { effect: { ...effectOf('hello'), kind: 'merge' } })],
    [
      'a destructive edit',
      requestFor('hello', { effect: { ...effectOf('hello'), kind: 'destructive_edit' } }),
    ],
    ['a doubt', questionFor()],
    ['a job that is stuck', stuckFor()],
    ['what a gate keeps from rules', requestUnder({ rules: false })],
    ['what two people have to approve', requestUnder({ quorum: 2 })],
    ['what nobody can approve', requestUnder({ decisions: ['reject'] })],
  ])('never decides on %s, whoever says that it does', (_, request) => {
    given(requestedBy(request))
      .when(applies, ASKED + 1)
      .thenNothing();
  });
});

describe('a rule that is made with a decision', () => {
  const spec = specOf({ usesMax: 20 });
  const kept = rememberedIdOf(APPROVAL);
  const rule = { rule: kept, spec, from: APPROVAL, author: { name: 'ada', groups: ['operators'] } };
  const keep = { kind: 'keep_rule', ...rule } as const;
  const data = asSent(rule);
  const remembering = decides(ada, 'approve', { remember: spec });
  const approved = historyOf(decider, [asks([]), ASKED], [remembering, ASKED + 1]);

  test('is named by it, and kept until it is there', () => {
    given(requested)
      .when(remembering, ASKED + 1)
      .thenEmitsLike({ outcome: 'approved', by: 'ada', remembered: kept })
      .thenTimes(
        { clear: 'expiry' },
        { set: 'outcome', dueAt: ASKED + 1 + 120_000, data: { asks: 1 } },
        { set: 'keep_rule', dueAt: ASKED + 1 + AGAIN_MS, data },
      )
      .thenStarts({ ...keep, author: ada })
      .thenAnswers({ status: 'approved', remembered: kept });
    given(...approved)
      .when(timer('keep_rule', data), ASKED + 6_000)
      .thenEmits()
      .thenTimes({ set: 'keep_rule', dueAt: ASKED + 6_000 + AGAIN_MS, data })
      .thenStarts(keep);
    given(...approved)
      .when({ kind: 'rule_kept' }, ASKED + 6_001)
      .thenEmits()
      .thenTimes({ clear: 'keep_rule' })
      .thenStarts();
  });

  test('is named again to the same person who says the same again', () => {
    given(...approved)
      .when(remembering, ASKED + 9)
      .thenNothing()
      .thenAnswers({ status: 'approved', remembered: kept });
  });

  test.each([
    ['a rejection', requested, decides(ada, 'reject', { remember: spec })],
    [
      'what it would not fit',
      requested,
      decides(ada, 'approve', { remember: specOf({ match: { ...MATCH, target: 'file:other' } }) }),
    ],
    ['what more than one person has to approve', requestedBy(requestUnder({ quorum: 2 })), remembering],
    ['what its gate keeps from rules', requestedBy(requestUnder({ rules: false })), remembering],
    [
      'a deploy',
      requestedBy(requestFor('hello', { effect: { ...effectOf('hello'), kind: 'deploy' } })),
      decides(ada, 'approve', { remember: specOf({ match: { target: 'file:*' } }) }),
    ],
  ])('is refused with %s, and nothing is decided by it', (_, request, message) => {
    given(request)
      .when(message, ASKED + 1)
      .thenRefuses('APPROVALS_RULE_REFUSED');
  });

  test('is refused to whoever may not decide at all', () => {
    given(requested)
      .when(decides(mallory, 'approve', { remember: spec }), ASKED + 1)
      .thenAnswersError('APPROVALS_NOT_ENTITLED');
    given(requestedBy(requestUnder({ fourEyes: true })))
      .when(decides(linus, 'approve', { remember: spec }), ASKED + 1)
      .thenAnswersError('APPROVALS_FOUR_EYES');
  });

  test('takes credentials that are good for making rules: good for deciding is not enough', () => {
    const deciding = { ...ada, scopes: ['approvals:read', 'approvals:decide'] as const };
    given(requested)
      .when(decides(deciding, 'approve', { remember: spec }), ASKED + 1)
      .thenRefuses('APPROVALS_SCOPE');
    given(requested)
      .when(decides(deciding, 'approve'), ASKED + 1)
      .thenEmitsLike({ outcome: 'approved' });
    given(requested)
      .when(
        decides({ ...ada, scopes: ['approvals:decide', 'rules:write'] }, 'approve', { remember: spec }),
        ASKED + 1,
      )
      .thenEmitsLike({ outcome: 'approved', remembered: kept });
  });
});
