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
  admitted,
  APPROVAL,
  REQUESTED_AT,
  DEADLINE,
  decides,
  DOUBT,
  NODE,
  effectOf,
  requestedBy,
  requestFor,
  resolvedHead,
  rollbackFor,
  RULE,
  rules,
  STUCK,
  TASK,
  withSurfaces,
  verify,
  withoutRollbackRule,
} from '../../testing/requests.ts';
import type { ApprovalMessage } from '../approval/state.ts';
import type { RuleMessage } from './decide.ts';
import { BUILT_IN, decidesRollback, ROLLBACK_RULE, ROLLBACK_SPEC } from './rollback-rule.ts';

const given = specFor(withSurfaces);
const givenRule = specFor(rules);
const WORKTREE = '.holdpoint/worktrees/work-t-1-prepare';
const argsOf = (change: JsonObject, context: JsonObject = { worktree: WORKTREE }): JsonObject => ({
  with: { isolated: true, worktree: WORKTREE, ...change },
  context,
});
const at = (worktree: string): Partial<CanonicalEffect> => ({
  args: argsOf({ worktree }, { worktree }),
  target: `worktree:${worktree}`,
});

const applies: Extract<ApprovalMessage, { kind: 'rule_applies' }> = {
  kind: 'rule_applies',
  rule: ROLLBACK_RULE,
  author: BUILT_IN.name,
};
const asks = (payload = rollbackFor()): ApprovalMessage => ({ kind: 'request', payload, rules: [RULE] });
const use = (approval = rollbackFor(), rest: readonly (typeof RULE)[] = []): RuleMessage => ({
  kind: 'use_rule',
  rule: ROLLBACK_RULE,
  approval,
  rest,
});
/** Which rules a new request has asked first. */
const askedBy = (payload: RequestApproval, others: readonly (typeof RULE)[] = []) =>
  withSurfaces
    .decide(withSurfaces.initial, { kind: 'request', payload, rules: others }, { now: REQUESTED_AT })
    .work.filter(({ kind }) => kind === 'use_rule');
const added: RuleEvent = {
  type: 'rule_added',
  id: ROLLBACK_RULE,
  spec: ROLLBACK_SPEC,
  author: { name: 'holdpoint', groups: [] },
  at: REQUESTED_AT,
};
const used: RuleEvent = {
  type: 'rule_used',
  id: ROLLBACK_RULE,
  approval: APPROVAL,
  requester: 'linus',
  at: REQUESTED_AT,
};

const ORIGIN = { task: TASK, node: NODE, attempt: 1, worktree: WORKTREE };

/** Requests that are almost a rollback in the isolated worktree of a task. */
const NEAR_MISSES: readonly (readonly [why: string, request: RequestApproval])[] = [
  ...SideEffectKind.exclude(['destructive_edit']).options.map(
    (kind) => [`of kind ${kind}`, rollbackFor({ kind })] as const,
  ),
  ['of kind work', rollbackFor({ kind: 'work' })],
  ['its preview', rollbackFor({ uses: 'cap.env.builtin.git.rollback.preview' })],
  ['the undo of a merge', rollbackFor({ uses: 'cap.env.builtin.git.integrate_plan_branch.compensate' })],
  ['a custom capability', rollbackFor({ uses: 'cap.custom.rollback' })],
  ['in a shared checkout', rollbackFor({ args: argsOf({ isolated: false }) })],
  ['isolated as text', rollbackFor({ args: argsOf({ isolated: 'true' }) })],
  ['without isolated', rollbackFor({ args: { with: { worktree: WORKTREE } } })],
  ['without a worktree', rollbackFor({ args: { with: { isolated: true } } })],
  ['without arguments', rollbackFor({ args: {} })],
  ['with arguments of another type', rollbackFor({ args: { with: [true, WORKTREE] } })],
  ['on request of somebody', rollbackFor({}, { rollbackOf: undefined })],
  [
    "of another task's worktree",
    rollbackFor({}, { rollbackOf: { ...ORIGIN, worktree: '.holdpoint/worktrees/work-t-2-prepare' } }),
  ],
  ['on another target', rollbackFor({ target: 'worktree:.holdpoint/worktrees/other' })],
  ['on a target with the same prefix', rollbackFor({ target: `worktree:${WORKTREE}x` })],
  ['on a target without its prefix', rollbackFor({ target: WORKTREE })],
  ['in another worktree', rollbackFor({ args: argsOf({}, { worktree: '.holdpoint/worktrees/other' }) })],
  ['in the repository itself', rollbackFor({ args: argsOf({}, { worktree: '.' }) })],
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
  ['with a quorum of two', rollbackFor({}, { policy: { quorum: 2 } })],
  ['with four eyes', rollbackFor({}, { policy: { fourEyes: true } })],
  ['with a policy that excludes rules', rollbackFor({}, { policy: { rules: false } })],
  ['without the choice to approve', rollbackFor({}, { policy: { decisions: ['reject'] } })],
  ['as an in-doubt question', rollbackFor({}, { inDoubt: DOUBT })],
  ['as a stuck job', rollbackFor({}, { stuck: STUCK })],
];

describe('the built-in rule', () => {
  test('the built-in rule decides on a rollback in the isolated worktree of a task', () => {
    expect(decidesRollback(rollbackFor())).toBe(true);
    expect(decidesRollback(rollbackFor({ args: { with: { isolated: true, worktree: WORKTREE } } }))).toBe(
      true,
    );
    for (const policy of [{}, { quorum: 1, rules: true, veto: false }, { decisions: ['approve' as const] }])
      expect(decidesRollback(rollbackFor({}, { policy }))).toBe(true);
  });

  test.each(NEAR_MISSES)('the built-in rule does not decide on a similar effect: %s', (_, request) => {
    expect(decidesRollback(request)).toBe(false);
    expect(askedBy(request)).toEqual([]);
    for (const history of [[], [added, used]]) {
      const other = { ...request, id: 'a-2' as typeof APPROVAL };
      givenRule(...history)
        .when(use(other), REQUESTED_AT)
        .thenNothing();
      givenRule(...history)
        .when(use(other, [RULE]), REQUESTED_AT)
        .thenEmits()
        .thenStarts({ kind: 'use_rule', rule: RULE, approval: other, rest: [] });
    }
    // The signing side checks again.
    given(requestedBy(request))
      .when(applies, REQUESTED_AT + 1)
      .thenNothing();
  });

  test('the built-in rule is asked first', () => {
    const approval = admitted(rollbackFor());
    expect(askedBy(rollbackFor(), [RULE])).toEqual([
      { kind: 'use_rule', rule: ROLLBACK_RULE, approval, rest: [RULE] },
    ]);
  });

  test('the first use adds the built-in rule and is recorded', () => {
    const decided = { ...applies, approval: APPROVAL } as const;
    givenRule().when(use(), REQUESTED_AT).thenEmits(added, used).thenStarts(decided);
    givenRule(added, used)
      .when(use(), REQUESTED_AT + 1)
      .thenEmits()
      .thenStarts(decided);
    givenRule(added, used)
      .when(use(rollbackFor({}, { id: 'a-2' as typeof APPROVAL })), REQUESTED_AT)
      .thenEmits({ ...used, approval: 'a-2' as typeof APPROVAL });
    for (const event of [added, used]) expect(RuleEvent.parse(event)).toEqual(event);
    expect(RuleSpec.parse(ROLLBACK_SPEC)).toEqual(ROLLBACK_SPEC);
  });

  test('the built-in rule approves with its id and a grant', () => {
    const run = runOf(withSurfaces, [
      { message: asks(), now: REQUESTED_AT },
      { message: applies, now: REQUESTED_AT + 7 },
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

  test('the built-in rule decides only as itself, and no other rule as it', () => {
    for (const message of [
      { ...applies, author: 'ada' },
      { ...applies, rule: RULE },
      { ...applies, rule: RULE, author: 'ada' },
    ] as const)
      given(requestedBy(rollbackFor()))
        .when(message, REQUESTED_AT + 1)
        .thenNothing();
    given(requestedBy(requestFor()))
      .when(applies, REQUESTED_AT + 1)
      .thenNothing();
  });

  test('the built-in rule does not decide after the deadline', () => {
    given(requestedBy(rollbackFor())).when(applies, DEADLINE).thenNothing();
  });

  test('the built-in rule does not replace the decision of a person', () => {
    given(requestedBy(rollbackFor()))
      .when(decides(ada, 'reject'), REQUESTED_AT + 1)
      .thenEmitsLike({ outcome: 'rejected', by: 'ada' });
  });

  test.each([true, false])('is not revoked, by an administrator or not: %s', (administrator) => {
    for (const history of [[], [added]])
      givenRule(...history)
        .when({ kind: 'revoke_rule', id: ROLLBACK_RULE, by: ada, administrator }, REQUESTED_AT)
        .thenRefuses('APPROVALS_RULE_REFUSED');
  });

  test('a built-in rule that is turned off decides nothing', () => {
    const givenOff = specFor(withoutRollbackRule.approvals);
    givenOff().when({ kind: 'request', payload: rollbackFor() }, REQUESTED_AT).thenStarts();
    givenOff(requestedBy(rollbackFor()))
      .when(applies, REQUESTED_AT + 1)
      .thenNothing();
    for (const history of [[], [added]])
      specFor(withoutRollbackRule.rules)(...history)
        .when(use(), REQUESTED_AT)
        .thenNothing();
  });

  test('no other rule can have the id of the built-in rule', () => {
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

test('no rule ever approves another destructive edit, a merge or a deploy', () => {
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
      mostly<string | undefined>(WORKTREE, fc.option(worktrees, { nil: undefined })),
      (effect, policy, said, origin) => {
        const request = requestFor('', {
          effect,
          digest: effectDigest(effect),
          effectId: rollbackFor({ idempotencyKey: effect.idempotencyKey }).effectId,
          rollbackOf: origin === undefined ? undefined : { ...ORIGIN, worktree: origin },
          ...(policy !== undefined && { policy }),
        });
        const run = runOf(withSurfaces, [
          { message: { kind: 'request', payload: request }, now: REQUESTED_AT },
          ...said.map((each) => ({
            message: { kind: 'rule_applies', ...each } as const,
            now: REQUESTED_AT + 1,
          })),
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
          origin === args.worktree &&
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
