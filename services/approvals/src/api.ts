import { Scope } from '@holdpoint/contracts/approval/access-token';
import type { RuleView } from '@holdpoint/contracts/approval/standing-rule';
import { HEADERS, SURFACE_HEADER, traceOf } from '@holdpoint/contracts/bus/cloudevents';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { accessTokenIdOf, ruleIdOf } from '@holdpoint/contracts/values/ids';
import type { Caller, OwnEndpoints } from '@holdpoint/runtime/bus/api';
import { awaitCommit } from '@holdpoint/runtime/engine/await-commit';
import { readState } from '@holdpoint/runtime/store/read';
import type { ServiceMessage } from './aggregates.ts';
import type { Principal } from './approval/state.ts';
import { listAudit } from './queries/audit.ts';
import { previousOf } from './queries/previous.ts';
import { approvalView, listRequests } from './queries/requests.ts';
import { listRules, readActiveRules, testRule } from './queries/rules.ts';
import { listTokens } from './queries/tokens.ts';
import { decidesRollback } from './rule/rollback-rule.ts';
import { builtInRule, ruleDecides, ruleView } from './rule/state.ts';
import type { Via } from './submit-decision.ts';
import { BUS, type SurfaceDeps, surfaceOf } from './surfaces/surface-deps.ts';
import { tokenMessage } from './token-request.ts';

export type ApprovalsEndpoints = OwnEndpoints<'approvals', ServiceMessage>;

/** Authenticates the caller. Throws `HoldpointError` as `Identity.authenticate` does. */
export const callerOf = (
  { identity }: SurfaceDeps,
  { header, source = BUS }: Caller,
  scope: Scope,
): Promise<Principal> => identity.authenticate({ authorization: header('authorization'), source }, scope);

const viaOf = ({ header, source }: Caller): Via => ({
  surface: surfaceOf(header(SURFACE_HEADER), source === undefined ? 'bus' : 'http'),
  trace: traceOf(header(HEADERS.trace)),
});

const decisionEndpoints = (
  deps: SurfaceDeps,
): Pick<ApprovalsEndpoints, 'decide' | 'decide_many' | 'whoami'> => ({
  decide: {
    query: async (payload, caller) =>
      deps.decisions.decide(await callerOf(deps, caller, 'approvals:decide'), payload, viaOf(caller)),
  },
  decide_many: {
    query: async (payload, caller) =>
      deps.decisions.decideMany(await callerOf(deps, caller, 'approvals:decide'), payload, viaOf(caller)),
  },
  whoami: {
    query: async (_, caller) => {
      const principal = await callerOf(deps, caller, 'approvals:read');
      const { name, groups, roles = [], scopes = Scope.options, agent } = principal;
      return {
        name,
        groups: [...groups],
        roles: [...roles],
        scopes: [...scopes],
        administrator: deps.identity.isAdministrator(principal),
        ...(agent !== undefined && { agent }),
      };
    },
  },
});

const inboxEndpoints = ({ pool, decider }: SurfaceDeps): Pick<ApprovalsEndpoints, 'get' | 'list'> => ({
  get: {
    query: async ({ id }) => {
      const state = await readState(pool, decider, id);
      if (state.status !== 'pending' && state.status !== 'closed')
        throw new HoldpointError('APPROVALS_UNKNOWN', `unknown approval: ${id}`);
      const view = approvalView(state);
      const previous = await previousOf(pool, decider, view);
      return { ...view, ...(previous && { previous }) };
    },
  },
  list: { query: (page) => listRequests(pool, page) },
});

/** Standing rules. `check` corresponds to checkApproval, `rule_add` to persistRule. */
const ruleEndpoints = (
  deps: SurfaceDeps,
): Pick<ApprovalsEndpoints, 'check' | 'rule_add' | 'rule_revoke' | 'rule_list' | 'rule_test'> => {
  const { pool, engine, identity, rollbackRule } = deps;
  return {
    check: {
      query: async ({ audience, requestedBy, workflow, ...effect }) => {
        const now = Date.now();
        if (rollbackRule && decidesRollback({ effect }))
          return { approved: true, rule: ruleView(builtInRule, now) };
        const found = (await readActiveRules(pool)).find((rule) =>
          // Without an audience the check assumes that the author is in it.
          ruleDecides(
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
        const { name, groups, roles, agent } = await callerOf(deps, caller, 'rules:write');
        // An agent with a rule could approve its own requests.
        if (agent !== undefined)
          throw new HoldpointError(
            'APPROVALS_NOT_ENTITLED',
            `${agent} is an agent: only a person may add rules`,
          );
        const id = ruleIdOf(name, caller.identity);
        const author = { name, groups, ...(roles && { roles }) };
        const message = { kind: 'add_rule', id, spec, author } as const;
        return (await awaitCommit(engine, { kind: 'rule', aggregate: id, message })) as RuleView;
      },
    },
    rule_revoke: {
      query: async ({ id, reason }, caller) => {
        const by = await callerOf(deps, caller, 'rules:write');
        const administrator = identity.isAdministrator(by);
        const message = { kind: 'revoke_rule', id, by, administrator, reason } as const;
        return (await awaitCommit(engine, { kind: 'rule', aggregate: id, message })) as RuleView;
      },
    },
    rule_list: { query: (page) => listRules(pool, page, { rollbackRule }) },
    rule_test: { query: ({ match, last }) => testRule(pool, match, last) },
  };
};

const accessTokenEndpoints = (
  deps: SurfaceDeps,
): Pick<ApprovalsEndpoints, 'token_create' | 'token_revoke' | 'token_list'> => ({
  token_create: {
    command: async (payload, caller) => {
      const by = await callerOf(deps, caller, 'tokens:write');
      const message = tokenMessage(deps.identity, by, payload);
      return { kind: 'token', aggregate: accessTokenIdOf(payload.sha256), message };
    },
  },
  token_revoke: {
    command: async ({ id }, caller) => {
      const by = await callerOf(deps, caller, 'tokens:write');
      const administrator = deps.identity.isAdministrator(by);
      return {
        kind: 'token',
        aggregate: id,
        message: { kind: 'revoke_token', id, by: by.name, administrator },
      };
    },
  },
  token_list: {
    query: async (page, caller) => {
      const by = await callerOf(deps, caller, 'approvals:read');
      const principal = deps.identity.isAdministrator(by) ? undefined : by.name;
      return listTokens(deps.pool, { ...page, principal });
    },
  },
});

const auditEndpoints = (deps: SurfaceDeps): Pick<ApprovalsEndpoints, 'audit' | 'keys'> => ({
  audit: {
    query: async (page, caller) => {
      await callerOf(deps, caller, 'audit:read');
      return listAudit(deps.pool, page);
    },
  },
  // Public keys need no scope: the signatures protect them.
  keys: { query: ({ nonce }) => Promise.resolve(deps.keyring.publish(Date.now(), nonce)) },
});

/** Endpoints of the service on the bus. */
export const endpoints = (deps: SurfaceDeps): ApprovalsEndpoints => ({
  ...decisionEndpoints(deps),
  ...inboxEndpoints(deps),
  ...ruleEndpoints(deps),
  ...accessTokenEndpoints(deps),
  ...auditEndpoints(deps),
});
