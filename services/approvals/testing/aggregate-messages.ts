import { Choice, type RequestApproval } from '@holdpoint/contracts/approval/commands';
import { Notice } from '@holdpoint/contracts/approval/status';
import { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import type { ApprovalPolicy } from '@holdpoint/contracts/workflow/approval-policy';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { accessTokenIdOf } from '@holdpoint/contracts/values/ids';
import { asSent } from '@holdpoint/contracts/values/json';
import type { Act } from '@holdpoint/runtime/testing/run';
import fc from 'fast-check';
import type { ApprovalMessage } from '../src/approval/state.ts';
import { DELIVERY_ATTEMPTS_MAX } from '../src/approval/notices.ts';
import { BUILT_IN, ROLLBACK_RULE } from '../src/rule/rollback-rule.ts';
import type { AuditMessage } from '../src/audit/audit-log.ts';
import type { RuleMessage } from '../src/rule/decide.ts';
import type { PeopleMessage } from '../src/people/people.ts';
import type { TokenMessage } from '../src/token/access-token.ts';
import {
  ada,
  APPROVAL,
  REQUESTED_AT,
  barbara,
  cancellation,
  CHOICE,
  DEADLINE,
  decides,
  DOUBT,
  effectOf,
  grace,
  linus,
  mallory,
  MATCH,
  OTHER_RULE,
  requestFor,
  rollbackFor,
  RULE,
  specOf,
  STUCK,
  SURFACES,
  timer,
} from './requests.ts';

export const PEOPLE = [ada, grace, barbara, linus, mallory] as const;
const person = fc.constantFrom(...PEOPLE);
const rule = fc.constantFrom(RULE, OTHER_RULE);

// Most of these people are operators: otherwise too few could decide for a quorum.
const audience = fc.oneof(
  fc.constant<string[]>(['operators']),
  fc.uniqueArray(
    fc.constantFrom<string>(
      'operators',
      'group:auditors',
      'role:release-manager',
      'user:ada',
      'user:mallory',
    ),
    { minLength: 1, maxLength: 3 },
  ),
);
/** Set in one of five. */
const rarely = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, arbitrary);
const after = fc.oneof(fc.constant(1_000), fc.integer({ min: 1_000, max: 2 * (DEADLINE - REQUESTED_AT) }));

export const policies: fc.Arbitrary<ApprovalPolicy> = fc.record(
  {
    decisions: fc.oneof(
      fc.constant<Verb[]>([...Verb.options]),
      fc.uniqueArray(fc.constantFrom(...Verb.options), { minLength: 1 }),
    ),
    quorum: fc.integer({ min: 1, max: 3 }),
    fourEyes: fc.boolean(),
    veto: fc.boolean(),
    onExpiry: fc.constantFrom('expire', 'reject', 'request_changes'),
    remindMs: fc.array(after, { maxLength: 3 }),
    handOn: fc.array(fc.record({ afterMs: after, audience }), { maxLength: 2 }),
    rules: fc.boolean(),
  },
  { requiredKeys: [] },
);

const kinds = fc.constantFrom('write_external', 'write_external', 'notify', 'deploy', 'merge');

/** One request per run, with its own policy. */
export const requests: fc.Arbitrary<RequestApproval> = fc
  .record({
    policy: fc.option(policies, { nil: undefined }),
    audience,
    kind: kinds,
    asks: rarely(
      fc.constantFrom<Partial<RequestApproval>>(
        { inDoubt: DOUBT },
        { stuck: STUCK },
        { input: { kind: 'approval' } },
        { input: CHOICE },
      ),
    ),
    rollback: rarely(fc.boolean()),
  })
  .map(({ kind, asks, policy, rollback, ...rest }) => {
    const base = requestFor();
    const more = { ...rest, ...(policy !== undefined && { policy }), ...asks };
    if (rollback !== undefined)
      return rollbackFor(rollback ? {} : { target: 'worktree:.holdpoint/worktrees/other' }, more);
    return requestFor('hello', { ...more, ...(kind === base.effect.kind ? {} : requestOf(kind)) });
  });

const requestOf = (
  kind: 'notify' | 'deploy' | 'merge' | 'write_external',
): Pick<RequestApproval, 'effect' | 'digest'> => {
  const effect = { ...effectOf('hello'), kind };
  return { effect, digest: effectDigest(effect) };
};

const which = fc.record({
  surface: fc.constantFrom(...SURFACES),
  notice: fc.constantFrom(...Notice.options),
  number: fc.integer({ min: 1, max: 2 }),
});

const decisionOf = fc
  .record({
    by: person,
    choice: fc.oneof(
      { weight: 8, arbitrary: fc.constant('approve' as const) },
      { weight: 2, arbitrary: fc.constant('reject' as const) },
      fc.constantFrom(...Choice.options),
    ),
    remember: rarely(fc.constantFrom(specOf(), specOf({ match: { ...MATCH, target: 'none' }, usesMax: 2 }))),
    scopes: rarely(fc.constant(['approvals:decide'] as const)),
    surface: fc.constantFrom('cli', 'web', undefined),
    comment: fc.option(fc.string({ unit: 'binary' }), { nil: undefined }),
    response: fc.constantFrom('a', 'b', 'c', true, undefined),
    isOneOfMany: rarely(fc.constant(true)),
  })
  .map(
    ({ by, choice, remember, scopes, surface, comment, response, isOneOfMany = false }): ApprovalMessage => ({
      ...decides(
        { ...by, ...(scopes !== undefined && { scopes }) },
        choice,
        {
          ...(remember !== undefined && { remember }),
          ...(comment !== undefined && { comment }),
          ...(response !== undefined && choice === 'respond' && { response }),
        },
        surface,
      ),
      isOneOfMany,
    }),
  );

const messageOn = (request: RequestApproval): fc.Arbitrary<ApprovalMessage> =>
  fc.oneof(
    fc.uniqueArray(rule).map((rules): ApprovalMessage => ({ kind: 'request', payload: request, rules })),
    { weight: 8, arbitrary: decisionOf },
    fc.constantFrom<ApprovalMessage>(
      { kind: 'cancel', payload: cancellation },
      { kind: 'cancel', payload: { id: APPROVAL, reason: 'over' } },
      { kind: 'rule_kept' },
      timer('expiry'),
      timer('other'),
    ),
    fc
      .tuple(fc.oneof(rule, fc.constant(ROLLBACK_RULE)), fc.oneof(person, fc.constant(BUILT_IN)))
      .map(([id, { name }]): ApprovalMessage => ({ kind: 'rule_applies', rule: id, author: name })),
    which.map((told): ApprovalMessage => ({ kind: 'delivered', ...told, reference: 'm-1' })),
    fc
      .record({
        outcome: fc.constantFrom('applied', 'in_doubt', 'failed_clean', 'refused'),
        epoch: fc.integer({ min: 0, max: 3 }),
        effect: fc.constantFrom(request.effectId, 'e-other' as typeof request.effectId),
      })
      .map((fact): ApprovalMessage => ({ kind: 'outcome', fact: { id: APPROVAL, ...fact } })),
    fc
      .tuple(fc.constantFrom('expiry', 'hand_on'), fc.constantFrom(1, 1, 2, 3, 4))
      .map(([name, number]) => timer(name, { number })),
    fc
      .tuple(which, fc.constantFrom(0, 1, DELIVERY_ATTEMPTS_MAX - 1, DELIVERY_ATTEMPTS_MAX))
      .map(([told, tries]) =>
        timer(`notice/${told.surface}/${told.notice}/${String(told.number)}`, { ...told, tries }),
      ),
    fc
      .tuple(fc.uniqueArray(rule, { minLength: 1 }), fc.integer({ min: 1, max: 6 }))
      .map(([rules, tries]) => timer('rules', { rules, tries })),
    person.map(({ name, groups }) =>
      timer('keep_rule', asSent({ rule: RULE, spec: specOf(), from: APPROVAL, author: { name, groups } })),
    ),
  );

// Clocks may step back, so the times of a run are in no order.
const moment = fc.oneof(
  fc.constantFrom(REQUESTED_AT, DEADLINE - 1, DEADLINE, DEADLINE + 1),
  fc.integer({ min: REQUESTED_AT, max: DEADLINE + 60_000 }),
);
/** Most runs stay within the time in which a request can be decided. */
const early = fc.integer({ min: REQUESTED_AT, max: DEADLINE - 1 });

const actsOf = <Message>(
  message: fc.Arbitrary<Message>,
  maxLength = 20,
): fc.Arbitrary<readonly Act<Message>[]> =>
  fc.constantFrom(moment, early).chain((now) => fc.array(fc.record({ message, now }), { maxLength }));

/** Messages about one approval with any policy, most often its request first. */
export const approvalActs: fc.Arbitrary<readonly Act<ApprovalMessage>[]> = requests.chain((request) =>
  fc
    .tuple(fc.boolean(), actsOf(messageOn(request)))
    .map(([isFirst, acts]) =>
      isFirst
        ? [{ message: { kind: 'request', payload: request } as const, now: REQUESTED_AT }, ...acts]
        : acts,
    ),
);

const specs = fc.record(
  { usesMax: fc.integer({ min: 1, max: 2 }), expiresInMs: fc.integer({ min: 60_000, max: 120_000 }) },
  { requiredKeys: [] },
);
const ruleMessage: fc.Arbitrary<RuleMessage> = fc.oneof(
  fc.tuple(specs, person, fc.boolean()).map(([spec, author, isRemembered]): RuleMessage => ({
    kind: 'add_rule',
    id: RULE,
    spec: specOf(spec),
    author,
    ...(isRemembered && { from: APPROVAL }),
  })),
  {
    weight: 3,
    arbitrary: fc
      .tuple(requests, fc.uniqueArray(rule), fc.integer({ min: 1, max: 4 }))
      .map(([approval, rest, number]): RuleMessage => ({
        kind: 'use_rule',
        rule: RULE,
        approval: { ...approval, id: `a-${String(number)}` as typeof approval.id },
        rest,
      })),
  },
  fc
    .tuple(person, fc.boolean())
    .map(([by, administrator]): RuleMessage => ({ kind: 'revoke_rule', id: RULE, by, administrator })),
);
export const ruleActs = actsOf(ruleMessage);

const SHA = 'ab'.repeat(32);
const TOKEN = accessTokenIdOf(SHA);
const tokenMessage: fc.Arbitrary<TokenMessage> = fc.oneof(
  fc
    .tuple(person, person, fc.option(fc.constant(60_000), { nil: undefined }), rarely(fc.constant(true)))
    .map(([owner, by, expiresInMs, signIn]): TokenMessage => ({
      kind: 'create_token',
      token: {
        id: TOKEN,
        name: 'laptop',
        principal: owner.name,
        groups: [...owner.groups],
        scopes: ['approvals:read'],
      },
      sha256: SHA,
      by: by.name,
      ...(expiresInMs !== undefined && { expiresInMs }),
      ...(signIn && { signIn }),
    })),
  fc.constantFrom('cd', 'ef').map((secret): TokenMessage => ({
    kind: 'redeem_code',
    id: TOKEN,
    code: SHA,
    sha256: secret.repeat(32),
  })),
  fc.tuple(person, fc.boolean()).map(([{ name }, administrator]): TokenMessage => ({
    kind: 'revoke_token',
    id: TOKEN,
    by: name,
    administrator,
  })),
);
const anchorMessage: fc.Arbitrary<AuditMessage> = fc
  .tuple(fc.integer({ min: 1, max: 9 }), fc.constantFrom('a', 'b'))
  .map(([seq, digit]) => ({ kind: 'anchor', seq, hash: digit.repeat(64) }));

const around = fc.record({
  isInFile: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.constant(true)),
  administrators: fc.constant(['operators']),
  hasOtherAdministrators: fc.boolean(),
});
const groupsOf = fc.uniqueArray(fc.constantFrom('operators', 'auditors', 'release'));
const peopleMessage: fc.Arbitrary<PeopleMessage> = fc
  .tuple(
    fc.constantFrom('add_person', 'change_person', 'remove_person'),
    person,
    person,
    groupsOf,
    rarely(fc.constant('A. Name')),
    around,
  )
  .map(([kind, { name }, { name: by }, groups, displayName, surroundings]): PeopleMessage =>
    kind === 'remove_person'
      ? { kind, name, by, ...surroundings }
      : { kind, by, ...surroundings, person: { name, groups, ...(displayName && { displayName }) } },
  );

export const peopleActs = actsOf(peopleMessage);
export const tokenActs = actsOf(tokenMessage);
export const anchorActs = actsOf(anchorMessage);
