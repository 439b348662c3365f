import { api, type Api, type ApiResponse } from '../catalog/api.ts';
import { ErrorBody, type ErrorCode, HoldpointError } from '../values/errors.ts';
import { PAYLOAD_MAX_BYTES } from '../bus/streams.ts';
import type { ServiceName } from '../bus/subjects.ts';
import type { z } from 'zod';

/** Nested deeper than any service takes, it cannot even be written down. */
const jsonText = (payload: unknown): string => {
  try {
    return JSON.stringify(payload);
  } catch (cause) {
    throw new HoldpointError('CONTRACT_INVALID', 'the request is nested too deeply', { cause });
  }
};

/** A request's body. What no service would take is not sent. */
export const encodeRequest = (payload: unknown): Uint8Array => {
  const body = new TextEncoder().encode(jsonText(payload));
  if (body.length <= PAYLOAD_MAX_BYTES) return body;
  throw new HoldpointError(
    'CONTRACT_PAYLOAD_TOO_LARGE',
    `the body has ${String(body.length)} bytes, at most ${String(PAYLOAD_MAX_BYTES)} are taken`,
  );
};

/** What came back over the bus: as much of it as is looked at. */
export type Reply = {
  readonly headers?: { readonly get: (name: string) => string } | undefined;
  readonly json: () => unknown;
};

const jsonOf = (reply: Reply): unknown => {
  try {
    return reply.json();
  } catch {
    // Whoever asks looks at the value, and undefined fits no schema.
    return undefined;
  }
};

/** An error reply of the NATS services framework as the error that it carries. */
const refusalIn = (service: ServiceName, reply: Reply): HoldpointError | undefined => {
  const status = reply.headers?.get('Nats-Service-Error-Code');
  if (!status) return undefined;
  const body = ErrorBody.safeParse(jsonOf(reply));
  if (!body.success) {
    const text = reply.headers?.get('Nats-Service-Error') ?? '';
    return new HoldpointError('RUNTIME_POISON', `${service} failed with ${status} ${text}`);
  }
  const { code, message, details } = body.data;
  // A service of a newer release may know codes that this one does not: they are kept as they are.
  return new HoldpointError(code as ErrorCode, message, details && { details });
};

type Endpoint = { readonly response: z.ZodType };

const PROBLEMS_SHOWN = 20;
const PATH_SHOWN = 100;

/** What is wrong with an answer. One that is nested without end is wrong as well, though it cannot be walked. */
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
  throw new HoldpointError('CONTRACT_INVALID', `${service} gave an answer that breaks its contract: ${said}`);
};

/** What a service answered, or its refusal thrown as `HoldpointError`. */
export const readAnswer = <S extends ServiceName, E extends keyof Api[S] & string>(
  service: S,
  endpoint: E,
  reply: Reply,
): ApiResponse<S, E> => {
  const refusal = refusalIn(service, reply);
  if (refusal !== undefined) throw refusal;
  const answer = jsonOf(reply);
  checkAnswer(service, endpoint, answer);
  // Checked, but handed on as it came: what a newer service added is not ours to drop.
  return answer as ApiResponse<S, E>;
};
