import { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import type { ApprovalState } from '@holdpoint/approvals/approval/state';
import { evolveRule, type Rule } from '@holdpoint/approvals/rule/state';
import type { RuleMessage } from '@holdpoint/approvals/rule/decide';
import {
  ada,
  APPROVAL,
  decides,
  grace,
  requestFor,
  RULE,
  ruleAdded,
  rules,
  specOf,
} from '@holdpoint/approvals/testing/requests';
import {
  type ApprovalWorld,
  CANCEL,
  decideApproval,
  endFaults,
  EXPIRY,
  laterSteps,
  MOMENTS,
  START,
} from './approval-decisions.ts';
import type { Model, Step } from './examine.ts';

export type RuleWorld = ApprovalWorld & {
  readonly rule: Rule;
  /** The approval has sent its request to the rule, which may arrive now, later, again or never. */
  readonly requested: boolean;
  /** The rule has sent its decision to the approval. */
  readonly applies: boolean;
  readonly revokedFirst: boolean;
};

const decideRule = (world: RuleWorld, message: RuleMessage): RuleWorld => {
  const { events, work } = rules.decide(world.rule, message, { now: world.now });
  const rule = events.reduce(evolveRule, world.rule);
  const applies = world.applies || work.some(({ kind }) => kind === 'rule_applies');
  const revokedFirst = world.revokedFirst || (rule.revokedBy !== undefined && rule.uses === 0);
  return events.length === 0 && applies === world.applies ? world : { ...world, rule, applies, revokedFirst };
};

const steps = (world: RuleWorld): readonly Step<RuleWorld>[] => {
  const request = requestFor();
  const requested = decideApproval(world, { kind: 'request', payload: request, rules: [RULE] });
  return [
    ['request', { ...requested, requested: true }],
    ...[
      CANCEL,
      EXPIRY,
      ...[ada, grace].flatMap((by) =>
        Verb.options.map((verb) => [`${by.name} ${verb}`, decides(by, verb)] as const),
      ),
    ].map(([label, message]) => [label, decideApproval(world, message)] as const),
    [
      'the rule is revoked',
      decideRule(world, { kind: 'revoke_rule', id: RULE, by: ada, administrator: false }),
    ],
    ...(world.requested
      ? [
          [
            'the request reaches the rule',
            decideRule(world, { kind: 'use_rule', rule: RULE, approval: request, rest: [] }),
          ] as const,
        ]
      : []),
    ...(world.applies
      ? [
          [
            'the rule decides',
            decideApproval(world, { kind: 'rule_applies', rule: RULE, author: 'ada' }),
          ] as const,
        ]
      : []),
    ...laterSteps(world, MOMENTS),
  ];
};

const isByRule = (approval: ApprovalState): boolean =>
  approval.status === 'closed' && approval.decided.rule !== undefined;

const wrong = (world: RuleWorld): readonly string[] => {
  const { approval, rule, revokedFirst } = world;
  const byRule = isByRule(approval);
  return [
    ...endFaults(world),
    ...(rule.uses > 1 ? ['used more often than its limit'] : []),
    ...(byRule && !(rule.usedFor.length === 1 && rule.usedFor[0] === APPROVAL)
      ? ['decided without a recorded use']
      : []),
    ...(byRule && revokedFirst ? ['decided after its revocation'] : []),
  ];
};

/** A standing rule for one use, between two approvers who may decide the same request and one who may revoke it. */
export const standingRule = (): Model<RuleWorld> => {
  const rule = evolveRule(undefined, ruleAdded({ spec: specOf({ usesMax: 1 }) }));
  return {
    start: { ...START, rule, requested: false, applies: false, revokedFirst: false },
    steps,
    wrong,
    rests: ({ approval }) => approval.status === 'closed' || approval.status === 'withdrawn',
  };
};

export const decidedByRule = ({ approval }: RuleWorld): boolean =>
  approval.status === 'closed' && approval.decided.rule === RULE;
