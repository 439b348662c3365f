import type { Scope } from '@holdpoint/contracts/approval/access-token';
import { api } from '@holdpoint/contracts/catalog/api';
import { HEADERS, SURFACE_HEADER, traceOf } from '@holdpoint/contracts/bus/cloudevents';
import { type ErrorBody, ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { parseAs } from '@holdpoint/runtime/engine/inbound';
import type { Caller } from '@holdpoint/runtime/bus/api';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import type { z } from 'zod';
import { callerFor, callerOf, endpoints } from '../../api.ts';
import type { Principal } from '../../approval/state.ts';
import type { SurfaceDeps } from '../surface-deps.ts';
import { type AnyEndpoint, askEndpoint } from '../http/api.ts';
import { accessTo, type OtherService, ownRoute } from './endpoint-access.ts';

/** A request of a page, and its caller. */
export type GatewayRequest = {
  readonly service: string;
  readonly endpoint: string;
  readonly body: () => Promise<JsonObject>;
  readonly caller: Caller;
};

const unknownEndpoint = (): HoldpointError =>
  new HoldpointError('CONTRACT_UNKNOWN_SUBJECT', 'unknown endpoint for the console');

/** The other service's error. An unknown code of a newer version moves into the text. */
export const errorFrom = ({ code, message, details }: ErrorBody): HoldpointError => {
  const known = ErrorCode.safeParse(code);
  return known.success
    ? new HoldpointError(known.data, message, details && { details })
    : new HoldpointError('RUNTIME_POISON', `${code}: ${message}`, details && { details });
};

/** The person who gives a command. Agents use the API, where their names are recorded. */
export const commanderOf = async (deps: SurfaceDeps, caller: Caller, scope: Scope): Promise<Principal> => {
  const person = await callerOf(deps, caller, scope);
  if (person.agent !== undefined)
    throw new HoldpointError(
      'APPROVALS_NOT_ENTITLED',
      `${person.agent} is an agent: console commands need a person`,
    );
  return person;
};

const schemaOf = (service: OtherService, endpoint: string): z.ZodType =>
  (api[service] as Readonly<Record<string, { readonly request: z.ZodType }>>)[endpoint]?.request ??
  (() => {
    throw unknownEndpoint();
  })();

/** A page cannot claim another surface than `web`. */
const asPage = (caller: Caller): Caller => ({
  ...caller,
  header: (name) => (name === SURFACE_HEADER ? 'web' : caller.header(name)),
});

/**
 * Answers a page: by this service's own endpoints, or by forwarding to another service. Commands carry the
 * name of the signed-in person, whatever the page sends. Throws `HoldpointError`.
 */
export const createGateway = (deps: SurfaceDeps, listener: Pick<Listener, 'call'>) => {
  const own = endpoints(deps) as Readonly<Record<string, AnyEndpoint>>;

  const answerOwn = async ({ endpoint, body, caller }: GatewayRequest): Promise<unknown> => {
    const route = ownRoute(endpoint);
    const serving = Object.hasOwn(own, endpoint) ? own[endpoint] : undefined;
    // Authenticates first, so that callers without a token do not learn which endpoints exist.
    await (route === undefined ? callerOf(deps, caller) : callerFor(deps, caller, route.endpoint));
    if (route === undefined || serving === undefined) throw unknownEndpoint();
    const request = parseAs(api.approvals[route.endpoint].request, await body());
    return askEndpoint(deps, serving, request, asPage(caller));
  };

  const forward = async ({ service, endpoint, body, caller }: GatewayRequest): Promise<unknown> => {
    const allowed = accessTo(service, endpoint);
    const who = allowed?.named === undefined ? callerOf : commanderOf;
    const person = await who(deps, caller, allowed?.scope ?? 'tasks:read');
    if (allowed === undefined) throw unknownEndpoint();
    const { named: as, takes } = allowed;
    const content = takes === undefined ? await body() : parseAs(takes, await body());
    // The other service takes the name from the assertion.
    const named = as === undefined ? content : { ...content, [as]: person.name };
    const identity = as === undefined ? undefined : deps.keyring.identify(person, Date.now()).assertion;
    const other = service as OtherService;
    const request = parseAs(schemaOf(other, endpoint), named);
    const sent = { id: caller.identity, trace: traceOf(caller.header(HEADERS.trace)), identity };
    const answer = await listener.call(other, endpoint, request, sent);
    if ('error' in answer) throw errorFrom(answer.error);
    return answer.ok;
  };

  return (request: GatewayRequest): Promise<unknown> =>
    request.service === 'approvals' ? answerOwn(request) : forward(request);
};
export type Gateway = ReturnType<typeof createGateway>;
