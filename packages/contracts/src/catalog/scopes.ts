import type { Scope } from '../approval/access-token.ts';
import { COMMAND_SCOPES } from '../approval/identity.ts';
import type { ServiceName } from '../bus/subjects.ts';
import type { Api } from './api.ts';

/** The scope that a token needs, or `any` for every valid token. */
export type Needed = Scope | 'any';

type Table = { readonly [S in ServiceName]: { readonly [E in keyof Api[S]]?: Needed } };

/** The console asks the other services for their dead letters, and reads those of the approvals service itself. */
const deadLetters = {
  dead_letter_list: 'tasks:read',
  dead_letter_get: 'tasks:read',
  dead_letter_resolve: 'operations:write',
} as const satisfies { readonly [E in keyof Api['executor']]?: Needed };

/**
 * The scope of every endpoint that a token opens: over HTTP, in the console, and for the approvals service on the
 * bus as well. Endpoints that are not listed are open to bus users only.
 */
export const ENDPOINT_SCOPES = {
  approvals: {
    list: 'approvals:read',
    get: 'approvals:read',
    callbacks: 'tasks:read',
    decide: 'approvals:decide',
    decide_many: 'approvals:decide',
    check: 'approvals:read',
    rule_list: 'approvals:read',
    rule_test: 'approvals:read',
    rule_add: 'rules:write',
    rule_revoke: 'rules:write',
    policy_get: 'approvals:read',
    policy_test: 'audit:read',
    token_list: 'approvals:read',
    token_create: 'tokens:write',
    token_revoke: 'tokens:write',
    person_list: 'approvals:read',
    person_add: 'people:write',
    person_change: 'people:write',
    person_remove: 'people:write',
    // Programs that request effects read definitions.
    capability_list: 'any',
    capability_register: 'capabilities:write',
    capability_withdraw: 'capabilities:write',
    executor_revoke: 'executors:write',
    executor_forget: 'executors:write',
    audit: 'audit:read',
    // Claimants verify grants with them.
    keys: 'any',
    whoami: 'any',
    identify: 'any',
  },
  orchestrator: {
    ...deadLetters,
    get: 'tasks:read',
    list: 'tasks:read',
    history: 'tasks:read',
    workflows: 'tasks:read',
    ...COMMAND_SCOPES,
  },
  executor: {
    ...deadLetters,
    get: 'tasks:read',
    list: 'tasks:read',
    artifacts: 'tasks:read',
    artifact: 'tasks:read',
    capabilities: 'tasks:read',
    order: 'tasks:read',
    executors: 'tasks:read',
    forget: 'executors:write',
    claim: 'effects:claim',
    beat: 'effects:claim',
    end: 'effects:claim',
    claimants: 'tasks:read',
  },
  recovery: {
    ...deadLetters,
    history: 'tasks:read',
    stuck: 'tasks:read',
    report: 'tasks:read',
    failure_counts: 'tasks:read',
    circuits: 'tasks:read',
    circuit: 'operations:write',
  },
} as const satisfies Table;

/** Routes of the console that are no endpoints of a service. */
export const CONSOLE_SCOPES = {
  health: 'tasks:read',
  events: 'tasks:read',
  dead_letters: deadLetters.dead_letter_list,
  resolve_dead_letter: deadLetters.dead_letter_resolve,
} as const satisfies Readonly<Record<string, Scope>>;

/** Endpoints over HTTP alone. Without a scope, no token is needed. */
export const HTTP_SCOPES = {
  effect_hold: COMMAND_SCOPES.submit,
  effect_get: ENDPOINT_SCOPES.orchestrator.get,
  effect_cancel: COMMAND_SCOPES.cancel,
  capability_get: ENDPOINT_SCOPES.approvals.capability_list,
  task_answer: ENDPOINT_SCOPES.approvals.decide,
  task_events: ENDPOINT_SCOPES.orchestrator.history,
  artifact_content: ENDPOINT_SCOPES.executor.artifact,
  openapi: undefined,
} as const satisfies Readonly<Record<string, Needed | undefined>>;

/** Tools of the MCP server. A tool that changes something takes the scope of the endpoint that it calls. */
export const MCP_TOOL_SCOPES = {
  task_get: ENDPOINT_SCOPES.orchestrator.get,
  task_wait: ENDPOINT_SCOPES.orchestrator.get,
  task_submit: ENDPOINT_SCOPES.orchestrator.submit,
  task_request_approval: ENDPOINT_SCOPES.orchestrator.submit,
  task_record_checkpoint: ENDPOINT_SCOPES.orchestrator.checkpoint,
  task_record_review: ENDPOINT_SCOPES.orchestrator.record_review,
  task_resolve_approval: ENDPOINT_SCOPES.approvals.decide,
} as const satisfies Readonly<Record<string, Scope>>;
export type McpTool = keyof typeof MCP_TOOL_SCOPES;

/** Resources of the MCP server. */
export const MCP_RESOURCE_SCOPES = {
  task: ENDPOINT_SCOPES.orchestrator.get,
  log: ENDPOINT_SCOPES.orchestrator.history,
  report: ENDPOINT_SCOPES.recovery.report,
} as const satisfies Readonly<Record<string, Scope>>;
export type McpResource = keyof typeof MCP_RESOURCE_SCOPES;

/** Whether a token may use something. A token without a list of scopes has all of them. */
export const allows = (scopes: readonly Scope[] | undefined, needed: Needed): boolean =>
  needed === 'any' || scopes === undefined || scopes.includes(needed);

/** The scope of an endpoint; undefined if no token opens it. */
export const scopeOfEndpoint = (service: string, endpoint: string): Needed | undefined => {
  if (!Object.hasOwn(ENDPOINT_SCOPES, service)) return undefined;
  const endpoints: Readonly<Record<string, Needed>> = ENDPOINT_SCOPES[service as ServiceName];
  return Object.hasOwn(endpoints, endpoint) ? endpoints[endpoint] : undefined;
};
