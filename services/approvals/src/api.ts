import { Scope } from '@holdpoint/contracts/approval/access-token';
import { isJoinValid } from '@holdpoint/contracts/approval/enrolment';
import { type PublishedKeys, publicKeyFrom } from '@holdpoint/contracts/approval/signing-keys';
import { keyIdOf } from '@holdpoint/contracts/values/jws';
import type { RuleView } from '@holdpoint/contracts/approval/standing-rule';
import { HEADERS, SURFACE_HEADER, traceOf } from '@holdpoint/contracts/bus/cloudevents';
import { effectClassOf } from '@holdpoint/contracts/effect/capabilities';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { accessTokenIdOf, executorKeyIdOf, ruleIdOf } from '@holdpoint/contracts/values/ids';
import type { Caller, OwnEndpoints } from '@holdpoint/runtime/bus/api';
import { awaitCommit } from '@holdpoint/runtime/engine/await-commit';
import { readState } from '@holdpoint/runtime/store/read';
import type { ServiceMessage } from './aggregates.ts';
import { listAudit } from './queries/audit.ts';
import { listCallbacks } from './queries/callbacks.ts';
import { previousOf } from './queries/previous.ts';
import { testPolicy } from './queries/policy-impacts.ts';
import { approvalView, listRequests } from './queries/requests.ts';
import { listRules, readActiveRules, testRule } from './queries/rules.ts';
import { listExecutors, readExecutorKeys } from './queries/executors.ts';
import { listTokens } from './queries/tokens.ts';
import { ruleDecides, ruleView } from './rule/state.ts';
import { applyFloor } from './policy/apply-floor.ts';
import { compileFloor } from './policy/compile-floor.ts';
import type { Via } from './submit-decision.ts';
import { callerFor, requestSourceOf } from './callers.ts';
import { capabilityEndpoints } from './capability-endpoints.ts';
import { peopleEndpoints } from './people-endpoints.ts';
import { type SurfaceDeps, surfaceOf } from './surfaces/surface-deps.ts';
import { tokenMessage } from './token-request.ts';

export type ApprovalsEndpoints = OwnEndpoints<'approvals', ServiceMessage>;

const viaOf = ({ header, source }: Caller): Via => ({
  surface: surfaceOf(header(SURFACE_HEADER), source === undefined ? 'bus' : 'http'),
  trace: traceOf(header(HEADERS.trace)),
});

const decisionEndpoints = (
  deps: SurfaceDeps,
): Pick<ApprovalsEndpoints, 'decide' | 'decide_many' | 'whoami' | 'identify'> => ({
  decide: {
    decides: true,
    query: async (payload, caller) =>
      deps.decisions.decide(await callerFor(deps, caller, 'decide'), payload, viaOf(caller)),
  },
  decide_many: {
    decides: true,
    query: async (payload, caller) =>
      deps.decisions.decideMany(await callerFor(deps, caller, 'decide_many'), payload, viaOf(caller)),
  },
  whoami: {
    query: async (_, caller) => {
      const principal = await callerFor(deps, caller, 'whoami');
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
  identify: {
    query: async (_, caller) =>
      deps.keyring.identify(await callerFor(deps, caller, 'identify'), Date.now(), requestSourceOf(caller)),
  },
});

const inboxEndpoints = ({
  pool,
  decider,
}: SurfaceDeps): Pick<ApprovalsEndpoints, 'get' | 'list' | 'callbacks'> => ({
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
  callbacks: { query: (wanted) => listCallbacks(pool, wanted) },
});

/** Standing rules. `check` corresponds to checkApproval, `rule_add` to persistRule. */
const ruleEndpoints = (
  deps: SurfaceDeps,
): Pick<ApprovalsEndpoints, 'check' | 'rule_add' | 'rule_revoke' | 'rule_list' | 'rule_test'> => {
  const { pool, engine, identity, rollbackRule } = deps;
  return {
    check: {
      query: async ({ audience, requestedBy, workflow, ...asked }) => {
        const now = Date.now();
        const effectClass = effectClassOf(asked.uses, asked.kind) ?? 'opaque';
        const effect = { ...asked, effectClass };
        const floored = (names: readonly string[]) =>
          applyFloor(
            { effect, requestedBy, workflow, audience: [...names], timeoutMs: 0 },
            deps.policy.current(),
          );
        const found = (await readActiveRules(pool)).find((rule) =>
          // Without an audience the check assumes that the author is in it.
          ruleDecides(rule, floored(audience ?? [`user:${rule.author.name}`]), now),
        );
        return found === undefined ? { approved: false } : { approved: true, rule: ruleView(found, now) };
      },
    },
    rule_add: {
      decides: true,
      query: async (spec, caller) => {
        const { name, groups, roles, agent } = await callerFor(deps, caller, 'rule_add');
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
      decides: true,
      query: async ({ id, reason }, caller) => {
        const by = await callerFor(deps, caller, 'rule_revoke');
        const administrator = identity.isAdministrator(by);
        const message = { kind: 'revoke_rule', id, by, administrator, reason } as const;
        return (await awaitCommit(engine, { kind: 'rule', aggregate: id, message })) as RuleView;
      },
    },
    rule_list: { query: (page) => listRules(pool, page, { rollbackRule }) },
    rule_test: { query: ({ match, last }) => testRule(pool, match, last) },
  };
};

const policyEndpoints = (deps: SurfaceDeps): Pick<ApprovalsEndpoints, 'policy_get' | 'policy_test'> => ({
  policy_get: {
    query: () => {
      const { current, source, problem } = deps.policy;
      const { digest, floor } = current();
      const why = problem();
      return Promise.resolve({ digest, source, floor, ...(why !== undefined && { problem: why }) });
    },
  },
  policy_test: {
    query: async ({ floor, ...page }, caller) => {
      await callerFor(deps, caller, 'policy_test');
      const tested = floor === undefined ? deps.policy.current() : compileFloor(floor);
      return testPolicy(deps.pool, tested, page, deps.people());
    },
  },
});

const accessTokenEndpoints = (
  deps: SurfaceDeps,
): Pick<ApprovalsEndpoints, 'token_create' | 'token_revoke' | 'token_list'> => ({
  token_create: {
    command: async (payload, caller) => {
      const by = await callerFor(deps, caller, 'token_create');
      await deps.identity.refreshPeople();
      const message = tokenMessage(deps.identity, by, payload);
      return { kind: 'token', aggregate: accessTokenIdOf(payload.sha256), message };
    },
  },
  token_revoke: {
    command: async ({ id }, caller) => {
      const by = await callerFor(deps, caller, 'token_revoke');
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
      const by = await callerFor(deps, caller, 'token_list');
      const principal = deps.identity.isAdministrator(by) ? undefined : by.name;
      return listTokens(deps.pool, { ...page, principal });
    },
  },
});

/** The keys of this service and of the executors, in statements signed for this nonce. */
export const publishKeys = async (
  { pool, keyring }: Pick<SurfaceDeps, 'pool' | 'keyring'>,
  nonce?: string,
): Promise<PublishedKeys> => keyring.publish(Date.now(), nonce, await readExecutorKeys(pool));

const executorEndpoints = (
  deps: SurfaceDeps,
): Pick<ApprovalsEndpoints, 'executor_join' | 'executor_list' | 'executor_revoke' | 'executor_forget'> => ({
  executor_join: {
    command: (request) => {
      const { name, x, reach } = request;
      const key = publicKeyFrom(x);
      if (key === undefined || !isJoinValid(request, deps.joinSecret()))
        throw new HoldpointError(
          'APPROVALS_JOIN_REFUSED',
          'the join secret or the key is wrong: check join.secret',
        );
      const id = executorKeyIdOf(x);
      const message = { kind: 'enrol_executor', id, name, key: keyIdOf(key), x, reach } as const;
      return { kind: 'executor', aggregate: id, message };
    },
  },
  executor_list: { query: async () => ({ items: await listExecutors(deps.pool) }) },
  executor_revoke: {
    command: async ({ id, reason }, caller) => {
      const { name: by } = await callerFor(deps, caller, 'executor_revoke');
      return { kind: 'executor', aggregate: id, message: { kind: 'revoke_executor', id, by, reason } };
    },
  },
  executor_forget: {
    command: async ({ id, reason }, caller) => {
      const { name: by } = await callerFor(deps, caller, 'executor_forget');
      return { kind: 'executor', aggregate: id, message: { kind: 'forget_executor', id, by, reason } };
    },
  },
});

const auditEndpoints = (deps: SurfaceDeps): Pick<ApprovalsEndpoints, 'audit' | 'keys'> => ({
  audit: {
    query: async (page, caller) => {
      await callerFor(deps, caller, 'audit');
      return listAudit(deps.pool, page);
    },
  },
  // Public keys need no scope: the signatures protect them.
  keys: { query: ({ nonce }) => publishKeys(deps, nonce) },
});

/** Endpoints of the service on the bus. */
export const endpoints = (deps: SurfaceDeps): ApprovalsEndpoints => ({
  ...decisionEndpoints(deps),
  ...inboxEndpoints(deps),
  ...ruleEndpoints(deps),
  ...policyEndpoints(deps),
  ...accessTokenEndpoints(deps),
  ...peopleEndpoints(deps),
  ...executorEndpoints(deps),
  ...capabilityEndpoints(deps),
  ...auditEndpoints(deps),
});
