import {
  type RuleEvent,
  type RuleSpec,
  type RuleSubject,
  type RuleView,
  matches,
} from '@holdpoint/contracts/approval/standing-rule';
import type { ApprovalId, RuleId } from '@holdpoint/contracts/values/ids';
import { isSamePerson } from '@holdpoint/contracts/values/person';
import { policyOf } from '@holdpoint/contracts/workflow/approval-policy';
import { type Deciders, mayDecide, type Member } from '@holdpoint/contracts/workflow/audience';
import { unknownEvent } from '@holdpoint/runtime/decider';
import { BUILT_IN, ROLLBACK_RULE, ROLLBACK_SPEC } from './rollback-rule.ts';

/** A standing rule: a decision made in advance. */
export type Rule = {
  readonly status: 'rule';
  readonly id: RuleId;
  readonly spec: RuleSpec;
  readonly author: Member;
  readonly from?: ApprovalId | undefined;
  readonly addedAt: number;
  readonly expiresAt?: number | undefined;
  readonly uses: number;
  readonly lastUsedAt?: number;
  /** The latest approvals that it decided. A repeated question about one of them receives the same answer. */
  readonly usedFor: readonly ApprovalId[];
  readonly revokedBy?: string;
};

/**
 * Approvals that a rule remembers. `usesMax` is at most this, so that a limited rule remembers all of its
 * uses.
 */
const REMEMBERED = 1_000;

export const evolveRule = (state: Rule | undefined, event: RuleEvent): Rule => {
  if (event.type === 'rule_added') {
    const { type: _, at, ...rule } = event;
    return { status: 'rule', ...rule, addedAt: at, uses: 0, usedFor: [] };
  }
  if (state === undefined) throw new Error(`rule ${event.id} was never added`);
  switch (event.type) {
    case 'rule_used':
      return {
        ...state,
        uses: state.uses + 1,
        lastUsedAt: event.at,
        usedFor: [...state.usedFor, event.approval].slice(-REMEMBERED),
      };
    case 'rule_revoked':
      return { ...state, revokedBy: event.by };
    default:
      return unknownEvent(event);
  }
};

/** Expiry is no event: the status follows from the clock. */
export const statusOf = (
  { revokedBy, expiresAt, uses, spec }: Pick<Rule, 'revokedBy' | 'expiresAt' | 'uses' | 'spec'>,
  now: number,
): RuleView['status'] => {
  if (revokedBy !== undefined) return 'revoked';
  const isOver = (expiresAt !== undefined && now >= expiresAt) || uses >= (spec.usesMax ?? Infinity);
  return isOver ? 'ended' : 'active';
};

export const ruleView = (rule: Rule, now: number): RuleView => {
  const { id, spec, author, from, addedAt, expiresAt, uses, lastUsedAt, revokedBy } = rule;
  return {
    id,
    ...spec,
    status: statusOf(rule, now),
    author: author.name,
    addedAt,
    uses,
    ...(from !== undefined && { from }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(lastUsedAt !== undefined && { lastUsedAt }),
    ...(revokedBy !== undefined && { revokedBy }),
  };
};

export const builtInAdded = (now: number): Extract<RuleEvent, { type: 'rule_added' }> => ({
  type: 'rule_added',
  id: ROLLBACK_RULE,
  spec: ROLLBACK_SPEC,
  author: { name: BUILT_IN.name, groups: [] },
  at: now,
});

/** The built-in rule before its first use. */
export const builtInRule: Rule = evolveRule(undefined, builtInAdded(0));

/** Whether the rule decides on the request: it is active, it matches, and its author may decide on it. */
export const ruleDecides = (rule: Rule, request: RuleSubject & Deciders, now: number): boolean =>
  statusOf(rule, now) === 'active' &&
  matches(rule.spec.match, request) &&
  mayDecide(request, rule.author) &&
  !(policyOf(request).fourEyes && isSamePerson(request.requestedBy, rule.author.name));
