import type { Scope } from '@holdpoint/contracts/approval/access-token';
import { type ENDPOINT_SCOPES, scopeOfEndpoint } from '@holdpoint/contracts/catalog/scopes';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { SubmitTask } from '@holdpoint/contracts/task/commands';
import { z } from 'zod';
import { ROUTES } from '../http/routes.ts';

/** `named` is the field that receives the caller's name. */
type Forwarding = {
  readonly named?: 'by' | 'requestedBy';
  /** A schema narrower than the contract. */
  readonly takes?: z.ZodType<object>;
};

/** How the console forwards an endpoint, with the scope that it needs. */
export type EndpointAccess = Forwarding & { readonly scope: Scope };

/**
 * The console starts only workflows by name. A page cannot bring its own workflow, which would decide who
 * approves its effects, nor skip the approvals of one. Other fields are refused: to drop them would start a
 * different task.
 */
const NamedTask = z.strictObject(
  SubmitTask.pick({
    id: true,
    workflow: true,
    repository: true,
    after: true,
    goal: true,
    acceptanceCriteria: true,
    inputs: true,
    // Replaced by the signed-in person.
    requestedBy: true,
  }).shape,
);

const read: Forwarding = {};
const command: Forwarding = { named: 'by' };
const start: Forwarding = { named: 'requestedBy', takes: NamedTask };

export type OtherService = Exclude<ServiceName, 'approvals'>;
type Table = {
  readonly [S in OtherService]: { readonly [E in keyof (typeof ENDPOINT_SCOPES)[S]]?: Forwarding };
};

/**
 * The endpoints that the console forwards to other services. The bus permissions of this service allow no
 * others.
 */
const FORWARDED: Table = {
  orchestrator: {
    get: read,
    list: read,
    history: read,
    workflows: read,
    submit: start,
    cancel: command,
    pause: command,
    resume: command,
    retry: command,
    skip: command,
    done: command,
    record_review: command,
    fork: command,
  },
  executor: { get: read, list: read, artifacts: read, artifact: read, capabilities: read, order: read },
  recovery: {
    history: read,
    stuck: read,
    report: read,
    failure_counts: read,
    circuits: read,
    circuit: command,
  },
};

export const accessTo = (service: string, endpoint: string): EndpointAccess | undefined => {
  if (!Object.hasOwn(FORWARDED, service)) return undefined;
  const endpoints: Readonly<Record<string, Forwarding>> = FORWARDED[service as OtherService];
  const scope = scopeOfEndpoint(service, endpoint);
  if (!Object.hasOwn(endpoints, endpoint) || scope === undefined || scope === 'any') return undefined;
  return { ...endpoints[endpoint], scope };
};

/** Every forwarded endpoint, as `service.endpoint`. */
export const forwardedEndpoints = (): readonly string[] =>
  Object.entries(FORWARDED).flatMap(([service, endpoints]) =>
    Object.keys(endpoints).map((endpoint) => `${service}.${endpoint}`),
  );

/** The HTTP route of one of this service's endpoints, if any. */
export const ownRoute = (endpoint: string) => ROUTES.find((route) => route.endpoint === endpoint);
