import { api, type Api, type ApiResponse } from '@holdpoint/contracts/catalog';
import { ErrorBody, type ErrorCode, HoldpointError } from '@holdpoint/contracts/errors';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/streams';
import type { ServiceName } from '@holdpoint/contracts/subjects';
import type { Msg } from '@nats-io/transport-node';
import type { z } from 'zod';

/** A request's body. What no service would take is not sent. */
export const encodeRequest = (payload: unknown): Uint8Array => {
  const body = new TextEncoder().encode(JSON.stringify(payload));
  if (body.length <= PAYLOAD_MAX_BYTES) return body;
  throw new HoldpointError(
    'CONTRACT_PAYLOAD_TOO_LARGE',
    `the body has ${String(body.length)} bytes, at most ${String(PAYLOAD_MAX_BYTES)} are taken`,
  );
};

export type Reply = Pick<Msg, 'headers' | 'json'>;

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

const checkAnswer = (service: ServiceName, endpoint: string, answer: unknown): void => {
  const declared: Readonly<Record<string, Endpoint>> = api[service];
  const problems = declared[endpoint]?.response.safeParse(answer).error;
  if (problems === undefined) return;
  const said = problems.issues
    .map(({ path, message }) => `${path.join('.') || '(body)'}: ${message}`)
    .join('; ');
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
