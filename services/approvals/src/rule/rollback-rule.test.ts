import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import type { ApprovalPolicy } from '@holdpoint/contracts/workflow/approval-policy';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { GrantClaims } from '@holdpoint/contracts/effect/grant';
import { ruleIdOf } from '@holdpoint/contracts/values/ids';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import { EffectClass, SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';
import { RuleEvent, RuleSpec } from '@holdpoint/contracts/approval/standing-rule';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import { specFor } from '@holdpoint/runtime/testing/spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { policies } from '../../testing/aggregate-messages.ts';
import {
  ada,
  APPROVAL,
  ASKED,
  DEADLINE,
  decides,
  desk,
  deskWithoutRule,
  DOUBT,
  effectOf,
  requestedBy,
  requestFor,
  resolvedHead,
  rollbackFor,
  RULE,
  STUCK,
  verify,
} from '../../testing/requests.ts';
import type { ServiceMessage } from '../aggregates.ts';
import { BUILT_IN, decidesRollback, ROLLBACK_RULE, ROLLBACK_SPEC } from './rollback-rule.ts';

const given = specFor(desk);
const WORKTREE = '.holdpoint/worktrees/work-t-1-prepare';
const argsOf = (change: JsonObject, context: JsonObject = { worktree: WORKTREE }): JsonObject => ({
  with: { isolated: true, worktree: WORKTREE, ...change },
  context,
});
const at = (worktree: string): Partial<CanonicalEffect> => ({
  args: argsOf({ worktree }, { worktree }),
  target: `worktree:${worktree}`,
});

const applies: ServiceMessage = { kind: 'rule_applies', rule: ROLLBACK_RULE, author: BUILT_IN.name };
const asks = (payload = rollbackFor()): ServiceMessage => ({ kind: 'request', payload, rules: [RULE] });
const use = (approval = rollbackFor(), rest: readonly (typeof RULE)[] = []): ServiceMessage => ({
  kind: 'use_rule',
  rule: ROLLBACK_RULE,
  approval,
  rest,
});
/** Which rules a new request has asked first. */
const askedBy = (payload: RequestApproval, rules: readonly (typeof RULE)[] = []) =>
  desk
    .decide(desk.initial, { kind: 'request', payload, rules }, { now: ASKED })
    .work.filter(({ kind }) => kind === 'use_rule');
const added: RuleEvent = {
  type: 'rule_added',
  id: ROLLBACK_RULE,
  spec: ROLLBACK_SPEC,
  author: { name: 'holdpoint', groups: [] },
  at: ASKED,
};
const used: RuleEvent = {
  type: 'rule_used',
  id: ROLLBACK_RULE,
  approval: APPROVAL,
  requester: 'linus',
  at: ASKED,
};

/** What is almost a rollback in the isolated worktree of a task that one person might approve. */
const NEAR_MISSES: readonly (readonly [why: string, request: RequestApproval])[] = [
  ...SideEffectKind.exclude(['destructive_edit']).options.map(
    (kind) => [`of kind ${kind}`, rollbackFor({ kind })] as const,
  ),
  ['of kind work', rollbackFor({ kind: 'work' })],
  ['its preview', rollbackFor({ uses: 'cap.env.builtin.git.rollback.preview' })],
  ['what takes a merge back', rollbackFor({ uses: 'cap.env.builtin.git.integrate_plan_branch.compensate' })],
  ['one of an operator', rollbackFor({ uses: 'cap.custom.rollback' })],
  ['in a checkout that is shared', rollbackFor({ args: argsOf({ isolated: false }) })],
  ['in one that says no more than that it is isolated', rollbackFor({ args: argsOf({ isolated: 'true' }) })],
  ['in one of which it is not said', rollbackFor({ args: { with: { worktree: WORKTREE } } })],
  ['in no worktree', rollbackFor({ args: { with: { isolated: true } } })],
  ['without arguments', rollbackFor({ args: {} })],
  ['with arguments that are none', rollbackFor({ args: { with: [true, WORKTREE] } })],
  ['on another target', rollbackFor({ target: 'worktree:.holdpoint/worktrees/other' })],
  ['on a target that begins alike', rollbackFor({ target: `worktree:${WORKTREE}x` })],
  ['on a target of another form', rollbackFor({ target: WORKTREE })],
  ['that works elsewhere', rollbackFor({ args: argsOf({}, { worktree: '.holdpoint/worktrees/other' }) })],
  ['that works in the repository', rollbackFor({ args: argsOf({}, { worktree: '.' }) })],
  ...[
    '.',
    '',
    '.holdpoint',
    '.holdpoint/worktrees',
    '.holdpoint/worktrees/',
    '.holdpoint/worktrees/.',
    '.holdpoint/worktrees/..',
    '.holdpoint/worktrees/../..',
    '.holdpoint/worktrees/x/..',
    '.holdpoint/worktrees/x/../../..',
    '.holdpoint/worktrees/x/y',
    '.holdpoint/worktrees//x',
    '.holdpoint/worktrees/x\\..\\..',
    '.holdpoint/worktrees/x\n',
    '.holdpoint/worktrees/x\0',
    '.holdpoint/worktreesx/x',
    'xholdpoint/worktrees/x',
    'x/.holdpoint/worktrees/x',
    './.holdpoint/worktrees/x',
    '/.holdpoint/worktrees/x',
    '/srv/.holdpoint/worktrees/x',
    '.holdpoint/worktrees/х',
  ].map((worktree) => [`in ${JSON.stringify(worktree)}`, rollbackFor(at(worktree))] as const),
  ['where two have to approve', rollbackFor({}, { policy: { quorum: 2 } })],
  ['where four eyes have to look', rollbackFor({}, { policy: { fourEyes: true } })],
  ['where the gate wants a person', rollbackFor({}, { policy: { rules: false } })],
  ['where nothing can be approved', rollbackFor({}, { policy: { decisions: ['reject'] } })],
  ['of which it is asked what became of it', rollbackFor({}, { doubt: DOUBT })],
  ['that is a stuck job', rollbackFor({}, { stuck: STUCK })],
];

describe('the rule that is built in', () => {
  test('is for a rollback in the isolated worktree of a task', () => {
    expect(decidesRollback(rollbackFor())).toBe(true);
    expect(decidesRollback(rollbackFor({ args: { with: { isolated: true, worktree: WORKTREE } } }))).toBe(
      true,
    );
    for (const policy of [{}, { quorum: 1, rules: true, veto: false }, { decisions: ['approve' as const] }])
      expect(decidesRollback(rollbackFor({}, { policy }))).toBe(true);
  });

  test.each(NEAR_MISSES)(
    'is neither asked nor decides where a rollback is not what it is for: %s',
    (_, request) => {
      expect(decidesRollback(request)).toBe(false);
      expect(askedBy(request)).toEqual([]);
      for (const history of [[], [added, used]]) {
        const other = { ...request, id: 'a-2' as typeof APPROVAL };
        given(...history)
          .when(use(other), ASKED)
          .thenNothing();
        given(...history)
          .when(use(other, [RULE]), ASKED)
          .thenEmits()
          .thenStarts({ kind: 'use_rule', rule: RULE, approval: other, rest: [] });
      }
      // Whoever signs looks himself.
      given(requestedBy(request))
        .when(applies, ASKED + 1)
        .thenNothing();
    },
  );

  test('is asked before all others', () => {
    const approval = rollbackFor();
    expect(askedBy(approval, [RULE])).toEqual([
      { kind: 'use_rule', rule: ROLLBACK_RULE, approval, rest: [RULE] },
    ]);
  });

  test('is there from its first use, which is recorded like that of any rule', () => {
    const decided = { ...applies, approval: APPROVAL } as const;
    given().when(use(), ASKED).thenEmits(added, used).thenStarts(decided);
    given(added, used)
      .when(use(), ASKED + 1)
      .thenEmits()
      .thenStarts(decided);
    given(added, used)
      .when(use(rollbackFor({}, { id: 'a-2' as typeof APPROVAL })), ASKED)
      .thenEmits({ ...used, approval: 'a-2' as typeof APPROVAL });
    for (const event of [added, used]) expect(RuleEvent.parse(event)).toEqual(event);
    expect(RuleSpec.parse(ROLLBACK_SPEC)).toEqual(ROLLBACK_SPEC);
  });

  test('decides with its name, and a grant that says so', () => {
    const run = runOf(desk, [
      { message: asks(), now: ASKED },
      { message: applies, now: ASKED + 7 },
    ]);
    const resolved = eventsOf(run).at(-1);
    const by = `rule ${ROLLBACK_RULE} of holdpoint`;
    const { digest } = rollbackFor();
    expect(resolved).toMatchObject({
      ...resolvedHead,
      outcome: 'approved',
      by,
      surface: 'rule',
      rule: ROLLBACK_RULE,
      digest,
    });
    const grant = resolved?.type === 'resolved' ? resolved.grant : undefined;
    expect(GrantClaims.parse(verify(grant ?? ''))).toMatchObject({ by, digest });
  });

  test('decides nothing in the name of somebody else, and nobody else anything in its name', () => {
    for (const message of [
      { ...applies, author: 'ada' },
      { ...applies, rule: RULE },
      { ...applies, rule: RULE, author: 'ada' },
    ] as const)
      given(requestedBy(rollbackFor()))
        .when(message, ASKED + 1)
        .thenNothing();
    given(requestedBy(requestFor()))
      .when(applies, ASKED + 1)
      .thenNothing();
  });

  test('is too late once it has expired', () => {
    given(requestedBy(rollbackFor())).when(applies, DEADLINE).thenNothing();
  });

  test('leaves it to a person who is faster', () => {
    given(requestedBy(rollbackFor()))
      .when(decides(ada, 'reject'), ASKED + 1)
      .thenEmitsLike({ outcome: 'rejected', by: 'ada' });
  });

  test.each([true, false])('is not revoked, by an administrator or not: %s', (administrator) => {
    for (const history of [[], [added]])
      given(...history)
        .when({ kind: 'revoke_rule', id: ROLLBACK_RULE, by: ada, administrator }, ASKED)
        .thenRefuses('APPROVALS_RULE_REFUSED');
  });

  test('is switched off: then it is not asked, and decides nothing, whatever is on its way', () => {
    const givenOff = specFor(deskWithoutRule);
    givenOff().when({ kind: 'request', payload: rollbackFor() }, ASKED).thenStarts();
    givenOff(requestedBy(rollbackFor()))
      .when(applies, ASKED + 1)
      .thenNothing();
    for (const history of [[], [added]])
      givenOff(...history)
        .when(use(), ASKED)
        .thenNothing();
  });

  test('is called as no other rule can be', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (author, command) => {
        expect(ruleIdOf(author, command)).toMatch(/^u-[^lo]+$/);
      }),
    );
  });
});

/** Arguments that are close to those of a rollback. */
const worktrees = fc.oneof(
  fc.constantFrom(WORKTREE, '.holdpoint/worktrees/other', '.', '.holdpoint/worktrees/../x', '/srv/x'),
  fc.string(),
);
const mostly = <Value>(value: Value, others: fc.Arbitrary<Value>): fc.Arbitrary<Value> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(value) }, others);
const effects: fc.Arbitrary<CanonicalEffect> = fc
  .record({
    kind: mostly<CanonicalEffect['kind']>('destructive_edit', fc.constantFrom('merge', 'deploy')),
    uses: mostly(
      'cap.env.builtin.git.rollback',
      fc.constantFrom(
        'cap.env.builtin.git.integrate_plan_branch',
        'cap.env.builtin.git.integrate_plan_branch.compensate',
        'cap.env.shell.command.run',
        'cap.file.write.compensate',
      ),
    ),
    isolated: mostly<Json>(true, fc.constantFrom<Json[]>(false, 'true', 1, null)),
    worktree: mostly(WORKTREE, worktrees),
    context: mostly<string | undefined>(undefined, worktrees),
    target: fc.oneof(
      worktrees.map((worktree) => `worktree:${worktree}`),
      fc.constantFrom('branch:main', WORKTREE),
    ),
    effectClass: fc.constantFrom(...EffectClass.options),
    matching: mostly(true, fc.constant(false)),
  })
  .map(({ kind, uses, isolated, worktree, context, target, effectClass, matching }) => ({
    ...effectOf(''),
    kind,
    uses,
    effectClass,
    args: { with: { isolated, worktree }, context: context === undefined ? {} : { worktree: context } },
    target: matching ? `worktree:${worktree}` : target,
  }));

test('no other destructive edit, merge or deploy is ever approved by a rule, whatever is said by whom', () => {
  let approved = 0;
  fc.assert(
    fc.property(
      effects,
      mostly<ApprovalPolicy | undefined>(undefined, policies),
      fc.array(
        fc.record({
          rule: fc.constantFrom(ROLLBACK_RULE, ROLLBACK_RULE, RULE),
          author: fc.constantFrom('holdpoint', 'holdpoint', 'ada'),
        }),
        { minLength: 1, maxLength: 4 },
      ),
      (effect, policy, said) => {
        const request = requestFor('', {
          effect,
          digest: effectDigest(effect),
          effectId: rollbackFor({ idempotencyKey: effect.idempotencyKey }).effectId,
          ...(policy !== undefined && { policy }),
        });
        const run = runOf(desk, [
          { message: { kind: 'request', payload: request }, now: ASKED },
          ...said.map((each) => ({ message: { kind: 'rule_applies', ...each } as const, now: ASKED + 1 })),
        ]);
        const resolved = eventsOf(run).find(({ type }) => type === 'resolved');
        const { with: args, context } = effect.args as {
          with: { isolated: unknown; worktree: string };
          context: { worktree?: string };
        };
        const isIt =
          effect.kind === 'destructive_edit' &&
          effect.uses === 'cap.env.builtin.git.rollback' &&
          args.isolated === true &&
          /^\.holdpoint\/worktrees\/[\w-]+$/.test(args.worktree) &&
          effect.target === `worktree:${args.worktree}` &&
          [undefined, args.worktree].includes(context.worktree) &&
          (policy?.quorum ?? 1) === 1 &&
          policy?.fourEyes !== true &&
          policy?.rules !== false &&
          (policy?.decisions ?? Verb.options).includes('approve');
        const wasSaid = said.some(({ rule, author }) => rule === ROLLBACK_RULE && author === 'holdpoint');
        expect(resolved !== undefined).toBe(isIt && wasSaid);
        if (resolved !== undefined) approved += 1;
      },
    ),
    { numRuns: 2_000 },
  );
  expect(approved).toBeGreaterThan(100);
});
