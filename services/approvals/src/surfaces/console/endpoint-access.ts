import type { Scope } from '@holdpoint/contracts/approval/access-token';
import type { Api } from '@holdpoint/contracts/catalog/api';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { SubmitTask } from '@holdpoint/contracts/task/commands';
import { z } from 'zod';
import { ROUTES } from '../http/routes.ts';

/** The scope that an endpoint requires. `named` is the field that receives the caller's name. */
export type EndpointAccess = {
  readonly scope: Scope;
  readonly named?: 'by' | 'requestedBy';
  /** A schema narrower than the contract. */
  readonly takes?: z.ZodType<object>;
};

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

const read: EndpointAccess = { scope: 'tasks:read' };
const steer: EndpointAccess = { scope: 'tasks:write', named: 'by' };
const start: EndpointAccess = { scope: 'tasks:submit', named: 'requestedBy', takes: NamedTask };
const operate: EndpointAccess = { scope: 'operations:write', named: 'by' };

export type OtherService = Exclude<ServiceName, 'approvals'>;
type Table = { readonly [S in OtherService]: { readonly [E in keyof Api[S]]?: EndpointAccess } };

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
    cancel: steer,
    pause: steer,
    resume: steer,
    retry: steer,
    skip: steer,
    done: steer,
    fork: steer,
  },
  executor: { get: read, list: read, artifacts: read, artifact: read, capabilities: read, order: read },
  recovery: {
    history: read,
    stuck: read,
    report: read,
    failure_counts: read,
    circuits: read,
    circuit: operate,
  },
};

export const accessTo = (service: string, endpoint: string): EndpointAccess | undefined => {
  if (!Object.hasOwn(FORWARDED, service)) return undefined;
  const endpoints: Readonly<Record<string, EndpointAccess>> = FORWARDED[service as OtherService];
  return Object.hasOwn(endpoints, endpoint) ? endpoints[endpoint] : undefined;
};

/** Every forwarded endpoint, as `service.endpoint`. */
export const forwardedEndpoints = (): readonly string[] =>
  Object.entries(FORWARDED).flatMap(([service, endpoints]) =>
    Object.keys(endpoints).map((endpoint) => `${service}.${endpoint}`),
  );

/** The HTTP route of one of this service's endpoints, if any. */
export const ownRoute = (endpoint: string) => ROUTES.find((route) => route.endpoint === endpoint);
