import { api, type Api, type ApiResponse } from './api.ts';
import { ErrorBody, type ErrorCode, HoldpointError } from '../values/errors.ts';
import { PAYLOAD_MAX_BYTES } from '../bus/streams.ts';
import type { ServiceName } from '../bus/subjects.ts';
import type { z } from 'zod';

/** Nesting deeper than the limit of all services breaks serialization too. */
const jsonText = (payload: unknown): string => {
  try {
    return JSON.stringify(payload);
  } catch (cause) {
    throw new HoldpointError('CONTRACT_INVALID', 'request is nested too deeply', { cause });
  }
};

/** Encodes a request body. Throws for bodies that every service would refuse. */
export const encodeRequest = (payload: unknown): Uint8Array => {
  const body = new TextEncoder().encode(jsonText(payload));
  if (body.length <= PAYLOAD_MAX_BYTES) return body;
  throw new HoldpointError(
    'CONTRACT_PAYLOAD_TOO_LARGE',
    `body has ${String(body.length)} bytes; maximum: ${String(PAYLOAD_MAX_BYTES)}`,
  );
};

/** The parts of a NATS reply that are used here. */
export type Reply = {
  readonly headers?: { readonly get: (name: string) => string } | undefined;
  readonly json: () => unknown;
};

const jsonOf = (reply: Reply): unknown => {
  try {
    return reply.json();
  } catch {
    // The schema refuses undefined, so the caller gets an error.
    return undefined;
  }
};

/** The `HoldpointError` in an error reply of the NATS services framework. */
const refusalIn = (service: ServiceName, reply: Reply): HoldpointError | undefined => {
  const status = reply.headers?.get('Nats-Service-Error-Code');
  if (!status) return undefined;
  const body = ErrorBody.safeParse(jsonOf(reply));
  if (!body.success) {
    const text = reply.headers?.get('Nats-Service-Error') ?? '';
    return new HoldpointError('RUNTIME_POISON', `${service} failed with ${status} ${text}`);
  }
  const { code, message, details } = body.data;
  // A newer service may use unknown codes: they are kept.
  return new HoldpointError(code as ErrorCode, message, details && { details });
};

type Endpoint = { readonly response: z.ZodType };

const PROBLEMS_SHOWN = 20;
const PATH_SHOWN = 100;

/** Schema violations of an answer. Excessive nesting is a violation too, although it cannot be walked. */
const problemsOf = ({ response }: Endpoint, answer: unknown): string | undefined => {
  try {
    return response
      .safeParse(answer)
      .error?.issues.slice(0, PROBLEMS_SHOWN)
      .map(
        ({ path, message }) =>
          `${path.map(String).join('.').slice(0, PATH_SHOWN).toWellFormed() || '(body)'}: ${message}`,
      )
      .join('; ');
  } catch (error) {
    if (error instanceof RangeError) return '(body): nested too deeply';
    throw error;
  }
};

const checkAnswer = (service: ServiceName, endpoint: string, answer: unknown): void => {
  const declared: Readonly<Record<string, Endpoint>> = api[service];
  const said = declared[endpoint] && problemsOf(declared[endpoint], answer);
  if (said === undefined) return;
  throw new HoldpointError('CONTRACT_INVALID', `${service} returned an invalid answer: ${said}`);
};

/** The answer of a service. Throws its error reply as `HoldpointError`. */
export const readAnswer = <S extends ServiceName, E extends keyof Api[S] & string>(
  service: S,
  endpoint: E,
  reply: Reply,
): ApiResponse<S, E> => {
  const refusal = refusalIn(service, reply);
  if (refusal !== undefined) throw refusal;
  const answer = jsonOf(reply);
  checkAnswer(service, endpoint, answer);
  // Returned as received: fields of newer services must survive.
  return answer as ApiResponse<S, E>;
};
