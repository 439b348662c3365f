import { api } from '@holdpoint/contracts/catalog/api';
import { HEADERS, traceOf } from '@holdpoint/contracts/bus/cloudevents';
import { takesIdentity } from '@holdpoint/contracts/approval/identity';
import { type ErrorBody, ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { parseAs } from '@holdpoint/runtime/engine/inbound';
import type { Caller } from '@holdpoint/runtime/bus/api';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import type { z } from 'zod';
import type { Principal } from '../../approval/state.ts';
import type { SurfaceDeps } from '../surface-deps.ts';
import { requestSourceOf } from '../../callers.ts';
import { accessTo, type OtherService } from './endpoint-access.ts';

/** The other service's error. An unknown code of a newer version moves into the text. */
export const errorFrom = ({ code, message, details }: ErrorBody): HoldpointError => {
  const known = ErrorCode.safeParse(code);
  return known.success
    ? new HoldpointError(known.data, message, details && { details })
    : new HoldpointError('RUNTIME_POISON', `${code}: ${message}`, details && { details });
};

export const unknownEndpoint = (): HoldpointError =>
  new HoldpointError('CONTRACT_UNKNOWN_SUBJECT', 'unknown endpoint');

const schemaOf = (service: OtherService, endpoint: string): z.ZodType => {
  const declared: Readonly<Record<string, { readonly request: z.ZodType }>> = api[service];
  if (declared[endpoint] === undefined) throw unknownEndpoint();
  return declared[endpoint].request;
};

/** A request of an authenticated person to another service. */
export type Forwarded = {
  readonly service: string;
  readonly endpoint: string;
  readonly body: object;
  readonly person: Principal;
  readonly caller: Pick<Caller, 'identity' | 'header' | 'source'>;
  /** Time for the answer. Milliseconds. */
  readonly withinMs?: number;
};

/**
 * Forwards listed endpoints. Commands carry the name and the identity of the person, not those that the client sends. Throws
 * `HoldpointError`.
 */
export const createForwarder =
  ({ keyring }: Pick<SurfaceDeps, 'keyring'>, listener: Pick<Listener, 'call'>) =>
  async ({ service, endpoint, body, person, caller, withinMs }: Forwarded): Promise<unknown> => {
    const allowed = accessTo(service, endpoint);
    if (allowed === undefined) throw unknownEndpoint();
    const { named: as, takes } = allowed;
    const content = takes === undefined ? body : parseAs(takes, body);
    // The other service takes the name from the assertion.
    const named = as === undefined ? content : { ...content, [as]: person.name };
    const identity = takesIdentity(service, endpoint)
      ? keyring.identify(person, Date.now(), requestSourceOf(caller)).assertion
      : undefined;
    const other = service as OtherService;
    const request = parseAs(schemaOf(other, endpoint), named);
    const trace = traceOf(caller.header(HEADERS.trace));
    const answer = await listener.call(other, endpoint, request, {
      id: caller.identity,
      trace,
      identity,
      withinMs,
    });
    if ('error' in answer) throw errorFrom(answer.error);
    return answer.ok;
  };
export type Forward = ReturnType<typeof createForwarder>;
