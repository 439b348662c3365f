import { z } from 'zod';
import { AnswerTask } from '../approval/commands.ts';
import { DecisionResult } from '../approval/queries.ts';
import { RegisteredCapability } from '../approval/capability.ts';
import { RemoteName } from '../effect/remote-name.ts';
import { HeldAnswer, HeldState, HoldEffect } from '../effect/hold.ts';
import { SubmitTask } from '../task/commands.ts';
import { TaskId } from '../values/ids.ts';
import type { ServiceName } from '../bus/subjects.ts';
import type { Api } from './api.ts';
import { endpoint } from './endpoint.ts';
import type { ENDPOINT_SCOPES } from './scopes.ts';

/** Limit of one wait over HTTP, in milliseconds. Proxies close a silent connection after 30 s or more. */
export const POLL_WAIT_MAX_MS = 25_000;

/**
 * Pages and HTTP clients start only workflows by name. A client cannot bring its own workflow, which would decide who approves
 * its effects, nor skip the approvals of one. Other fields are refused: to drop them would start a different task.
 */
export const NamedTask = z.strictObject(
  SubmitTask.pick({
    id: true,
    workflow: true,
    repository: true,
    after: true,
    goal: true,
    acceptanceCriteria: true,
    inputs: true,
    // Replaced by the owner of the token.
    requestedBy: true,
  }).shape,
);

/** Content of an artifact by the SHA-256 of its bytes. */
const ArtifactContent = z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/, '64 lower-case hex digits') });

/** Endpoints over HTTP alone. */
export const httpApi = {
  effect_hold: endpoint(
    'Hold one effect of a remote capability until an approver decides. The same key is the same effect',
    HoldEffect,
    HeldAnswer,
  ),
  effect_get: endpoint(
    'A held effect. With `waitMs` it waits for a final state, or with `not` for another state',
    z.object({
      id: TaskId,
      /** Waits this long; default 0. Milliseconds. */
      waitMs: z.int().min(0).max(POLL_WAIT_MAX_MS).optional(),
      /** Answers as soon as the effect leaves this state. */
      not: HeldState.optional(),
    }),
    HeldAnswer,
  ),
  effect_cancel: endpoint(
    'Cancel a held effect that has not started',
    z.object({ id: TaskId, reason: z.string().max(1_000).optional() }),
    HeldAnswer,
  ),
  capability_get: endpoint(
    'One registered remote capability',
    z.object({ name: RemoteName }),
    RegisteredCapability,
  ),
  task_answer: endpoint(
    'Answer the request of a task that waits: approve an effect, tell whether one in doubt happened, or give input',
    AnswerTask,
    DecisionResult,
  ),
  task_events: endpoint(
    'Events of one task from its first one on, as server-sent events. `last-event-id` resumes',
    z.object({
      id: TaskId,
      /** The last event id that the client has. */
      after: z.string().max(40).optional(),
      /** `1`: also the output lines of its steps. */
      log: z.literal('1').optional(),
    }),
    z.string(),
  ),
  artifact_content: endpoint('Content of an artifact, whole or one `range`', ArtifactContent, z.string()),
  openapi: endpoint('This document', z.object({}), z.looseObject({ openapi: z.string() })),
} as const;

/** `<service>.<endpoint>` of the bus, or `http.<endpoint>` of {@link httpApi}. Only endpoints with a scope have a route. */
type RouteTarget =
  | { [S in ServiceName]: `${S}.${keyof (typeof ENDPOINT_SCOPES)[S] & keyof Api[S] & string}` }[ServiceName]
  | `http.${keyof typeof httpApi}`;

export type HttpMethod = 'GET' | 'POST' | 'DELETE';

export type HttpRoute = {
  readonly method: HttpMethod;
  /** Below `/api/v1`. `:name` is a field of the request. */
  readonly path: string;
  readonly to: RouteTarget;
};

const get = (path: string, to: RouteTarget): HttpRoute => ({ method: 'GET', path, to });
const post = (path: string, to: RouteTarget): HttpRoute => ({ method: 'POST', path, to });
const remove = (path: string, to: RouteTarget): HttpRoute => ({ method: 'DELETE', path, to });

/**
 * The HTTP API below `/api/v1`. The server, the OpenAPI document and its reference page are made from this table. Fields of a
 * request come from the path, and from the query or, with `POST`, the body.
 */
export const HTTP_ROUTES: readonly HttpRoute[] = [
  post('/effects', 'http.effect_hold'),
  get('/effects/:id', 'http.effect_get'),
  post('/effects/:id/cancel', 'http.effect_cancel'),
  post('/claims', 'executor.claim'),
  post('/claims/beats', 'executor.beat'),
  post('/claims/ends', 'executor.end'),
  get('/claimants', 'executor.claimants'),
  get('/capabilities', 'approvals.capability_list'),
  post('/capabilities', 'approvals.capability_register'),
  get('/capabilities/:name', 'http.capability_get'),
  remove('/capabilities/:name', 'approvals.capability_withdraw'),
  post('/tasks', 'orchestrator.submit'),
  get('/tasks', 'orchestrator.list'),
  get('/tasks/:id', 'orchestrator.get'),
  get('/tasks/:id/events', 'http.task_events'),
  get('/tasks/:id/history', 'orchestrator.history'),
  post('/tasks/:id/cancel', 'orchestrator.cancel'),
  post('/tasks/:id/pause', 'orchestrator.pause'),
  post('/tasks/:id/resume', 'orchestrator.resume'),
  post('/tasks/:id/retry', 'orchestrator.retry'),
  post('/tasks/:id/answer', 'http.task_answer'),
  post('/tasks/:id/reviews', 'orchestrator.record_review'),
  get('/tasks/:task/artifacts', 'executor.artifacts'),
  get('/artifacts/:sha256', 'http.artifact_content'),
  get('/workflows', 'orchestrator.workflows'),
  get('/approvals', 'approvals.list'),
  get('/approvals/:id', 'approvals.get'),
  post('/approvals/:id/decisions', 'approvals.decide'),
  post('/decisions', 'approvals.decide_many'),
  get('/rules', 'approvals.rule_list'),
  post('/rules', 'approvals.rule_add'),
  post('/rules/test', 'approvals.rule_test'),
  remove('/rules/:id', 'approvals.rule_revoke'),
  post('/check', 'approvals.check'),
  get('/policy', 'approvals.policy_get'),
  post('/policy/test', 'approvals.policy_test'),
  get('/tokens', 'approvals.token_list'),
  post('/tokens', 'approvals.token_create'),
  remove('/tokens/:id', 'approvals.token_revoke'),
  get('/people', 'approvals.person_list'),
  post('/people', 'approvals.person_add'),
  post('/people/:name', 'approvals.person_change'),
  remove('/people/:name', 'approvals.person_remove'),
  get('/audit', 'approvals.audit'),
  get('/whoami', 'approvals.whoami'),
  get('/keys', 'approvals.keys'),
  get('/openapi.json', 'http.openapi'),
];
