import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { RuleView } from '@holdpoint/contracts/approval/standing-rule';
import { ruleIdOf } from '@holdpoint/contracts/values/ids';
import { ask } from '@holdpoint/runtime/engine/ask';
import { decidesRollback } from '../rule/rollback-rule.ts';
import { builtInRule, decides, ruleView } from '../rule/rule.ts';
import type { Office } from '../surfaces/surface-deps.ts';
import { listRules, readActiveRules, testRule } from '../queries/rules.ts';
import { type ApprovalsEndpoints, callerOf } from './deciding.ts';

/** Standing rules: `check` is what others call checkApproval, `rule_add` what they call persistRule. */
export const ruleEndpoints = (
  office: Office,
): Pick<ApprovalsEndpoints, 'check' | 'rule_add' | 'rule_revoke' | 'rule_list' | 'rule_test'> => {
  const { pool, engine, identity, rollbackRule } = office;
  return {
    check: {
      query: async ({ audience, requestedBy, workflow, ...effect }) => {
        const now = Date.now();
        if (rollbackRule && decidesRollback({ effect }))
          return { approved: true, rule: ruleView(builtInRule, now) };
        const found = (await readActiveRules(pool)).find((rule) =>
          // Without an audience: would it, if its author were among those who are asked?
          decides(
            rule,
            { effect, requestedBy, workflow, audience: audience ?? [`user:${rule.author.name}`] },
            now,
          ),
        );
        return found === undefined ? { approved: false } : { approved: true, rule: ruleView(found, now) };
      },
    },
    rule_add: {
      query: async (spec, caller) => {
        const { name, groups, roles, agent } = await callerOf(office, caller, 'rules:write');
        // With a rule it would approve what it asks for itself.
        if (agent !== undefined)
          throw new HoldpointError('APPROVALS_NOT_ENTITLED', `${agent} is an agent: a person makes rules`);
        const id = ruleIdOf(name, caller.identity);
        const author = { name, groups, ...(roles && { roles }) };
        const message = { kind: 'add_rule', id, spec, author } as const;
        return (await ask(engine, { aggregate: id, message })) as RuleView;
      },
    },
    rule_revoke: {
      query: async ({ id, reason }, caller) => {
        const by = await callerOf(office, caller, 'rules:write');
        const administrator = identity.isAdministrator(by);
        const message = { kind: 'revoke_rule', id, by, administrator, reason } as const;
        return (await ask(engine, { aggregate: id, message })) as RuleView;
      },
    },
    rule_list: { query: (page) => listRules(pool, page, { rollbackRule }) },
    rule_test: { query: ({ match, last }) => testRule(pool, match, last) },
  };
};
