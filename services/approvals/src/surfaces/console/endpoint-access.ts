import type { Scope } from '@holdpoint/contracts/approval/access-token';
import type { Api } from '@holdpoint/contracts/catalog/api';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { SubmitTask } from '@holdpoint/contracts/task/commands';
import { z } from 'zod';
import { ROUTES } from '../http/routes.ts';

/** What a token has to be good for, and as what whoever shows it is named, where something is done. */
export type EndpointAccess = {
  readonly scope: Scope;
  readonly named?: 'by' | 'requestedBy';
  /** When a page may say less than others do. */
  readonly takes?: z.ZodType<object>;
};

/**
 * A page starts what is known by its name. It brings no workflow of its own, which would say who may approve its effects, and
 * leaves out no approval that a workflow asks for. What it may not say is refused: to leave it out would be another task.
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
    // Whatever it says of that: it is whoever is signed in.
    requestedBy: true,
  }).shape,
);

const read: EndpointAccess = { scope: 'tasks:read' };
const steer: EndpointAccess = { scope: 'tasks:write', named: 'by' };
const start: EndpointAccess = { scope: 'tasks:submit', named: 'requestedBy', takes: NamedTask };
const operate: EndpointAccess = { scope: 'operations:write', named: 'by' };

export type OtherService = Exclude<ServiceName, 'approvals'>;
type Table = { readonly [S in OtherService]: { readonly [E in keyof Api[S]]?: EndpointAccess } };

/** What is passed on to other services, and nothing else: the bus lets this service ask for nothing else either. */
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
  recovery: { history: read, stuck: read, report: read, classes: read, circuits: read, circuit: operate },
};

export const accessTo = (service: string, endpoint: string): EndpointAccess | undefined => {
  if (!Object.hasOwn(FORWARDED, service)) return undefined;
  const endpoints: Readonly<Record<string, EndpointAccess>> = FORWARDED[service as OtherService];
  return Object.hasOwn(endpoints, endpoint) ? endpoints[endpoint] : undefined;
};

/** Every pair that is passed on, as `service.endpoint`. */
export const forwardedEndpoints = (): readonly string[] =>
  Object.entries(FORWARDED).flatMap(([service, endpoints]) =>
    Object.keys(endpoints).map((endpoint) => `${service}.${endpoint}`),
  );

/** An endpoint of this service, if it is to be had over HTTP at all. */
export const ownRoute = (endpoint: string) => ROUTES.find((route) => route.endpoint === endpoint);
