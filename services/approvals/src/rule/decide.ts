import type { RuleEvent, RuleSpec } from '@holdpoint/contracts/approval/standing-rule';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { ApprovalId, RuleId } from '@holdpoint/contracts/values/ids';
import { asSent } from '@holdpoint/contracts/values/json';
import type { Member } from '@holdpoint/contracts/workflow/audience';
import { type Decider, type Decision, decision, refused } from '@holdpoint/runtime/decider';
import type { AdmittedRequest } from '../approval/state.ts';
import { BUILT_IN, ROLLBACK_RULE, decidesRollback } from './rollback-rule.ts';
import { type Rule, builtInAdded, evolveRule, ruleDecides, ruleView } from './state.ts';

export type RuleMessage =
  | {
      readonly kind: 'add_rule';
      readonly id: RuleId;
      readonly spec: RuleSpec;
      readonly author: Member;
      readonly from?: ApprovalId | undefined;
    }
  | {
      readonly kind: 'use_rule';
      readonly rule: RuleId;
      readonly approval: AdmittedRequest;
      readonly rest: readonly RuleId[];
    }
  | {
      readonly kind: 'revoke_rule';
      readonly id: RuleId;
      readonly by: Member;
      readonly administrator: boolean;
      readonly reason?: string | undefined;
    };

export type RuleWork =
  | {
      readonly kind: 'rule_applies';
      readonly approval: ApprovalId;
      readonly rule: RuleId;
      readonly author: string;
    }
  | { readonly kind: 'rule_kept'; readonly approval: ApprovalId }
  | {
      readonly kind: 'use_rule';
      readonly rule: RuleId;
      readonly approval: AdmittedRequest;
      readonly rest: readonly RuleId[];
    };

type RuleDecision = Decision<RuleEvent, RuleWork>;

const add = (
  state: Rule | undefined,
  { id, spec, author, from }: Extract<RuleMessage, { kind: 'add_rule' }>,
  now: number,
): RuleDecision => {
  const kept: readonly RuleWork[] = from === undefined ? [] : [{ kind: 'rule_kept', approval: from }];
  if (state !== undefined) return decision({ work: kept, answer: { ok: asSent(ruleView(state, now)) } });
  const { name, groups, roles } = author;
  const event: RuleEvent = {
    type: 'rule_added',
    id,
    spec,
    author: { name, groups: [...groups], ...(roles !== undefined && { roles: [...roles] }) },
    ...(from !== undefined && { from }),
    ...(spec.expiresInMs !== undefined && { expiresAt: now + spec.expiresInMs }),
    at: now,
  };
  const made = evolveRule(undefined, event);
  return decision<RuleEvent, RuleWork>({
    events: [event],
    work: kept,
    answer: { ok: asSent(ruleView(made, now)) },
  });
};

const use = (
  state: Rule | undefined,
  { rule: id, approval, rest }: Extract<RuleMessage, { kind: 'use_rule' }>,
  now: number,
  rollbackRule: boolean,
): RuleDecision => {
  const [next, ...others] = rest;
  const onwards: readonly RuleWork[] =
    next === undefined ? [] : [{ kind: 'use_rule', rule: next, approval, rest: others }];
  const isBuiltIn = id === ROLLBACK_RULE;
  if (state === undefined && !isBuiltIn) return decision({ work: onwards });
  const author = state?.author ?? BUILT_IN;
  const applies: RuleWork = { kind: 'rule_applies', approval: approval.id, rule: id, author: author.name };
  if (state?.usedFor.includes(approval.id) === true) return decision({ work: [applies] });
  const isItsOwn = isBuiltIn
    ? rollbackRule && decidesRollback(approval)
    : state !== undefined && ruleDecides(state, approval, now);
  if (!isItsOwn) return decision({ work: onwards });
  return decision<RuleEvent, RuleWork>({
    events: [
      // The built-in rule is added at its first use.
      ...(state === undefined ? [builtInAdded(now)] : []),
      { type: 'rule_used', id, approval: approval.id, requester: approval.requestedBy, at: now },
    ],
    work: [applies],
  });
};

const revoke = (
  state: Rule | undefined,
  { id, by, administrator, reason }: Extract<RuleMessage, { kind: 'revoke_rule' }>,
  now: number,
): RuleDecision => {
  if (id === ROLLBACK_RULE) {
    const text = `rule ${id} is built in: turn it off with HOLDPOINT_ROLLBACK_RULE=off`;
    return refused(errorBody('APPROVALS_RULE_REFUSED', text));
  }
  if (state === undefined) return refused(errorBody('APPROVALS_UNKNOWN_RULE', `unknown rule: ${id}`));
  if (!administrator && by.name !== state.author.name) {
    const text = `only the author or an administrator may revoke rule ${id}`;
    return refused(errorBody('APPROVALS_NOT_ENTITLED', text));
  }
  if (state.revokedBy !== undefined) return decision({ answer: { ok: asSent(ruleView(state, now)) } });
  const event: RuleEvent = {
    type: 'rule_revoked',
    id: state.id,
    by: by.name,
    ...(reason !== undefined && { reason }),
    at: now,
  };
  return decision<RuleEvent, RuleWork>({
    events: [event],
    answer: { ok: asSent(ruleView(evolveRule(state, event), now)) },
  });
};

export type RuleDecider = Decider<Rule | undefined, RuleMessage, RuleEvent, RuleWork>;

export const createRuleDecider = ({
  rollbackRule = true,
}: { readonly rollbackRule?: boolean } = {}): RuleDecider => ({
  initial: undefined,
  evolve: evolveRule,
  decide: (state, message, { now }) => {
    switch (message.kind) {
      case 'add_rule':
        return add(state, message, now);
      case 'use_rule':
        return use(state, message, now, rollbackRule);
      case 'revoke_rule':
        return revoke(state, message, now);
    }
  },
});
