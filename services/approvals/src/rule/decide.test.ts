import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { type RuleEvent, RuleEvent as RuleEventSchema } from '@holdpoint/contracts/approval/standing-rule';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import {
  ada,
  APPROVAL,
  REQUESTED_AT,
  rules,
  effectOf,
  grace,
  linus,
  MATCH,
  mallory,
  OTHER_RULE,
  questionFor,
  requestFor,
  requestUnder,
  RULE,
  ruleAdded,
  specOf,
  stuckFor,
} from '../../testing/requests.ts';
import type { RuleMessage } from './decide.ts';

const given = specFor(rules);
const authorOf = ({ name, groups }: typeof ada) => ({ name, groups: [...groups] });
const add = (change: Partial<Extract<RuleMessage, { kind: 'add_rule' }>> = {}): RuleMessage => ({
  kind: 'add_rule',
  id: RULE,
  spec: specOf(),
  author: authorOf(ada),
  ...change,
});
const use = (approval: RequestApproval = requestFor(), rest: readonly (typeof RULE)[] = []): RuleMessage => ({
  kind: 'use_rule',
  rule: RULE,
  approval,
  rest,
});
const revoke = (by = ada, administrator = false): RuleMessage => ({
  kind: 'revoke_rule',
  id: RULE,
  by,
  administrator,
});
const used = (approval = APPROVAL, at = REQUESTED_AT): RuleEvent => ({
  type: 'rule_used',
  id: RULE,
  approval,
  requester: 'linus',
  at,
});
const revoked: RuleEvent = { type: 'rule_revoked', id: RULE, by: 'ada', at: REQUESTED_AT };
const applies = { kind: 'rule_applies', approval: APPROVAL, rule: RULE, author: 'ada' } as const;
const onwards = { kind: 'use_rule', rule: OTHER_RULE, approval: requestFor(), rest: [] } as const;
const approvalId = (text: string) => requestFor('hello', { id: text as typeof APPROVAL }).id;

describe('a new rule', () => {
  test('a new rule is recorded with its author and its expiry', () => {
    const spec = specOf({ expiresInMs: 60_000, usesMax: 3 });
    const event = { ...ruleAdded({ spec, expiresAt: REQUESTED_AT + 60_000, at: REQUESTED_AT }) };
    given()
      .when(add({ spec, author: { ...authorOf(ada), roles: ['lead'] } }), REQUESTED_AT)
      .thenEmits({ ...event, author: { ...event.author, roles: ['lead'] } })
      .thenStarts()
      .thenAnswers({ id: RULE, status: 'active', author: 'ada', uses: 0, expiresAt: REQUESTED_AT + 60_000 });
    expect(RuleEventSchema.parse(event)).toEqual(event);
  });

  test('a rule without an expiry never expires', () => {
    given()
      .when(add(), REQUESTED_AT)
      .thenEmits(ruleAdded({ at: REQUESTED_AT }));
  });

  test('a rule that is added again keeps its state and receives the same answer', () => {
    given(ruleAdded())
      .when(add({ spec: specOf({ name: 'another name' }) }), REQUESTED_AT)
      .thenNothing()
      .thenAnswers({ name: 'sample lines', status: 'active' });
  });

  test('a rule remembered by a decision notifies the approval each time it is added', () => {
    const kept = { kind: 'rule_kept', approval: APPROVAL } as const;
    given()
      .when(add({ from: APPROVAL }), REQUESTED_AT)
      .thenEmits(ruleAdded({ from: APPROVAL, at: REQUESTED_AT }))
      .thenStarts(kept);
    given(ruleAdded({ from: APPROVAL }))
      .when(add({ from: APPROVAL }), REQUESTED_AT + 1)
      .thenEmits()
      .thenStarts(kept);
  });
});

describe('a rule that is asked to decide', () => {
  test('a matching rule decides and records its use', () => {
    given(ruleAdded()).when(use(), REQUESTED_AT).thenEmits(used()).thenStarts(applies);
  });

  test('a rule decides again on the same approval without another use', () => {
    given(ruleAdded(), used())
      .when(use(), REQUESTED_AT + 1)
      .thenEmits()
      .thenStarts(applies);
    given(ruleAdded({ spec: specOf({ usesMax: 1 }) }), used())
      .when(use(), REQUESTED_AT + 1)
      .thenEmits()
      .thenStarts(applies);
  });

  const anything = specOf({ match: { capability: '*', target: '*' } });
  const declined: readonly (readonly [
    why: string,
    history: readonly RuleEvent[],
    request: RequestApproval,
  ])[] = [
    [
      'does not match the request',
      [ruleAdded({ spec: specOf({ match: { ...MATCH, target: 'file:other' } }) })],
      requestFor(),
    ],
    ['does not exist', [], requestFor()],
    ['was revoked', [ruleAdded(), revoked], requestFor()],
    ['has expired', [ruleAdded({ expiresAt: REQUESTED_AT })], requestFor()],
    [
      'is used up',
      [ruleAdded({ spec: specOf({ usesMax: 2 }) }), used(approvalId('a-8')), used(approvalId('a-9'))],
      requestFor(),
    ],
    ['has an author outside the audience', [ruleAdded({ author: authorOf(mallory) })], requestFor()],
    [
      'was created by the requester under four eyes',
      [ruleAdded({ author: authorOf(linus) })],
      requestUnder({ fourEyes: true }),
    ],
    ['meets a quorum of two', [ruleAdded()], requestUnder({ quorum: 2 })],
    ['meets a policy that excludes rules', [ruleAdded()], requestUnder({ rules: false })],
    ['meets a request without the choice to approve', [ruleAdded()], requestUnder({ decisions: ['reject'] })],
    ['meets an in-doubt question', [ruleAdded()], questionFor()],
    ['meets a question about a stuck job', [ruleAdded({ spec: anything })], stuckFor()],
  ];
  test.each(declined)('a rule that %s passes the request on', (_, history, request) => {
    given(...history)
      .when(use(request), REQUESTED_AT)
      .thenNothing();
    given(...history)
      .when(use(request, [OTHER_RULE]), REQUESTED_AT)
      .thenEmits()
      .thenStarts({ ...onwards, approval: request });
  });

  test.each(['merge', 'deploy', 'destructive_edit'] as const)('a rule declines every %s', (kind) => {
    const request = requestFor('hello', { effect: { ...effectOf('hello'), kind } });
    // As an earlier version without this check could have stored it.
    for (const match of [{ capability: '*' }, { capability: '*', kinds: [kind], target: '*' }])
      given(ruleAdded({ spec: specOf({ match }) }))
        .when(use(request), REQUESTED_AT)
        .thenNothing();
  });

  test('a rule decides until just before its expiry', () => {
    given(ruleAdded({ expiresAt: REQUESTED_AT + 1 }))
      .when(use(), REQUESTED_AT)
      .thenEmits(used());
  });

  test('a rule decides on its author’s request without four eyes, and on requests of others with them', () => {
    given(ruleAdded({ author: authorOf(linus) }))
      .when(use(), REQUESTED_AT)
      .thenEmits(used());
    given(ruleAdded())
      .when(use(requestUnder({ fourEyes: true })), REQUESTED_AT)
      .thenEmits(used());
  });

  test('a rule decides at most as often as its limit', () => {
    let state = rules.evolve(rules.initial, ruleAdded({ spec: specOf({ usesMax: 3 }) }));
    const uses = Array.from({ length: 6 }, (_, index) => {
      const { events } = rules.decide(
        state,
        use(requestFor('hello', { id: approvalId(`a-${String(index)}`) })),
        {
          now: REQUESTED_AT,
        },
      );
      state = events.reduce((before, event) => rules.evolve(before, event), state);
      return events.length;
    });
    expect(uses).toEqual([1, 1, 1, 0, 0, 0]);
  });

  test('a rule passes the request and the remaining rules on to the next one', () => {
    given(ruleAdded(), revoked)
      .when(use(requestFor(), [OTHER_RULE, RULE]), REQUESTED_AT)
      .thenStarts({ ...onwards, rest: [RULE] });
  });
});

describe('revoking a rule', () => {
  test.each([
    ['its author', ada, false],
    ['an administrator', grace, true],
  ])('a rule may be revoked by %s', (_, by, administrator) => {
    given(ruleAdded())
      .when({ ...revoke(by, administrator), reason: 'over' } as RuleMessage, REQUESTED_AT)
      .thenEmits({ ...revoked, by: by.name, reason: 'over' })
      .thenAnswers({ status: 'revoked', revokedBy: by.name });
  });

  test('other people may not revoke a rule', () => {
    given(ruleAdded()).when(revoke(grace), REQUESTED_AT).thenRefuses('APPROVALS_NOT_ENTITLED');
    given(ruleAdded(), revoked).when(revoke(grace), REQUESTED_AT).thenRefuses('APPROVALS_NOT_ENTITLED');
  });

  test('a rule is revoked once, by the first person', () => {
    given(ruleAdded(), revoked)
      .when(revoke(grace, true), REQUESTED_AT + 1)
      .thenNothing()
      .thenAnswers({ status: 'revoked', revokedBy: 'ada' });
  });

  test('revoking an unknown rule is refused', () => {
    given().when(revoke(ada, true), REQUESTED_AT).thenRefuses('APPROVALS_UNKNOWN_RULE');
  });
});
