import type { Scope } from '@holdpoint/contracts/approval/access-token';
import { api } from '@holdpoint/contracts/catalog/api';
import { SURFACE_HEADER } from '@holdpoint/contracts/bus/cloudevents';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { parseAs } from '@holdpoint/runtime/engine/inbound';
import type { Caller } from '@holdpoint/runtime/bus/api';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import { endpoints } from '../../api.ts';
import { callerFor, callerOf } from '../../callers.ts';
import type { Principal } from '../../approval/state.ts';
import type { SurfaceDeps } from '../surface-deps.ts';
import { type AnyEndpoint, askEndpoint } from '../http/api.ts';
import { accessTo, ownRoute } from '../http/endpoint-access.ts';
import { createForwarder, unknownEndpoint } from '../http/forward.ts';

/** A request of a page, and its caller. */
export type GatewayRequest = {
  readonly service: string;
  readonly endpoint: string;
  readonly body: () => Promise<JsonObject>;
  readonly caller: Caller;
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
  const forward = createForwarder(deps, listener);
  const own = endpoints(deps) as Readonly<Record<string, AnyEndpoint>>;

  const answerOwn = async ({ endpoint, body, caller }: GatewayRequest): Promise<unknown> => {
    const named = ownRoute(endpoint);
    const serving = Object.hasOwn(own, endpoint) ? own[endpoint] : undefined;
    // Authenticates first, so that callers without a token do not learn which endpoints exist.
    await (named === undefined ? callerOf(deps, caller) : callerFor(deps, caller, named));
    if (named === undefined || serving === undefined) throw unknownEndpoint();
    const request = parseAs(api.approvals[named].request, await body());
    return askEndpoint(deps, serving, request, asPage(caller));
  };

  const pass = async ({ service, endpoint, body, caller }: GatewayRequest): Promise<unknown> => {
    const known = accessTo(service, endpoint);
    const allowed = known?.isOfPrograms === true ? undefined : known;
    const who = allowed?.named === undefined ? callerOf : commanderOf;
    const person = await who(deps, caller, allowed?.scope ?? 'tasks:read');
    if (allowed === undefined) throw unknownEndpoint();
    return forward({ service, endpoint, body: await body(), person, caller });
  };

  return (request: GatewayRequest): Promise<unknown> =>
    request.service === 'approvals' ? answerOwn(request) : pass(request);
};
export type Gateway = ReturnType<typeof createGateway>;
