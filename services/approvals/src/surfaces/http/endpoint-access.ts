import type { Scope } from '@holdpoint/contracts/approval/access-token';
import { type ENDPOINT_SCOPES, scopeOfEndpoint } from '@holdpoint/contracts/catalog/scopes';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { HTTP_ROUTES, NamedTask } from '@holdpoint/contracts/catalog/http-api';
import type { z } from 'zod';

/** `named` is the field that receives the caller's name. */
type Forwarding = {
  readonly named?: 'by' | 'requestedBy';
  /** Programs of users send it. A page has no use for it. */
  readonly isOfPrograms?: true;
  /** A schema narrower than the contract. */
  readonly takes?: z.ZodType<object>;
};

/** How an endpoint is forwarded, with the scope that it needs. */
export type EndpointAccess = Forwarding & { readonly scope: Scope };

const read: Forwarding = {};
const ofPrograms: Forwarding = { isOfPrograms: true };
const command: Forwarding = { named: 'by' };
const start: Forwarding = { named: 'requestedBy', takes: NamedTask };

export type OtherService = Exclude<ServiceName, 'approvals'>;
type Table = {
  readonly [S in OtherService]: { readonly [E in keyof (typeof ENDPOINT_SCOPES)[S]]?: Forwarding };
};

/**
 * The endpoints that the console and the HTTP API forward to other services. The bus permissions of this service allow no
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
  executor: {
    get: read,
    list: read,
    artifacts: read,
    artifact: read,
    capabilities: read,
    order: read,
    claim: ofPrograms,
    beat: ofPrograms,
    end: ofPrograms,
    claimants: read,
  },
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

const namesOf = (isWanted: (forwarding: Forwarding) => boolean): readonly string[] =>
  Object.entries(FORWARDED).flatMap(([service, endpoints]) =>
    Object.entries(endpoints).flatMap(([endpoint, forwarding]) =>
      isWanted(forwarding) ? [`${service}.${endpoint}`] : [],
    ),
  );

/** Every forwarded endpoint, as `service.endpoint`. */
export const forwardedEndpoints = (): readonly string[] => namesOf(() => true);

/** The forwarded endpoints that a page may call. */
export const pageEndpoints = (): readonly string[] => namesOf(({ isOfPrograms }) => isOfPrograms !== true);

type OwnEndpoint = keyof (typeof ENDPOINT_SCOPES)['approvals'];

/** The endpoint of this service with an HTTP route, if any. */
export const ownRoute = (endpoint: string): OwnEndpoint | undefined =>
  HTTP_ROUTES.some(({ to }) => to === `approvals.${endpoint}`) ? (endpoint as OwnEndpoint) : undefined;
