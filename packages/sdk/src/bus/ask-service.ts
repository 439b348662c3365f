import { api, type Api, type ApiRequest, type ApiResponse } from '@holdpoint/contracts/catalog';
import { ErrorBody, type ErrorCode, HoldpointError } from '@holdpoint/contracts/errors';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/streams';
import { type ServiceName, subjects } from '@holdpoint/contracts/subjects';
import { errors, headers as createHeaders, type Msg, type NatsConnection } from '@nats-io/transport-node';
import type { z } from 'zod';

/** Every endpoint answers after one commit or one query. */
const ANSWER_TIMEOUT_MS = 5_000;

export type AskOptions = {
  readonly timeoutMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Puts a question to a service. */
export type AskService = <S extends ServiceName, E extends keyof Api[S] & string>(
  service: S,
  endpoint: E,
  payload: ApiRequest<S, E>,
  options?: AskOptions,
) => Promise<ApiResponse<S, E>>;

/** Why no answer came: whatever it was, it may come the next time, unless this user may not ask at all. */
const unanswered = (error: unknown, service: ServiceName): HoldpointError => {
  const reason = error instanceof errors.RequestError ? (error.cause ?? error) : error;
  if (reason instanceof errors.PermissionViolationError)
    return new HoldpointError('ERR_FORBIDDEN', `this NATS user may not ask ${service}`, { cause: error });
  return new HoldpointError('RUNTIME_UNAVAILABLE', `${service} does not answer`, { cause: error });
};

const jsonOf = (reply: Msg): unknown => {
  try {
    return reply.json();
  } catch {
    // Whoever looks at it finds that it is no answer.
    return undefined;
  }
};

/** An error reply of the NATS services framework as the error that it carries. */
const refusalIn = (service: ServiceName, reply: Msg): HoldpointError | undefined => {
  const status = reply.headers?.get('Nats-Service-Error-Code');
  if (!status) return undefined;
  const body = ErrorBody.safeParse(jsonOf(reply));
  if (!body.success) return new HoldpointError('RUNTIME_POISON', `${service} failed with ${status}`);
  const { code, message, details } = body.data;
  // A service of a newer release may know codes that this one does not: they are kept as they are.
  return new HoldpointError(code as ErrorCode, message, details && { details });
};

/**
 * Asks services over a connection. Rejects with `HoldpointError`: what the service has refused it with,
 * `RUNTIME_UNAVAILABLE` when no answer came, `CONTRACT_INVALID` when the answer is none.
 */
export const askOver =
  (connection: NatsConnection): AskService =>
  async (service, endpoint, payload, { timeoutMs = ANSWER_TIMEOUT_MS, headers = {} } = {}) => {
    const body = new TextEncoder().encode(JSON.stringify(payload));
    if (body.length > PAYLOAD_MAX_BYTES)
      throw new HoldpointError(
        'CONTRACT_PAYLOAD_TOO_LARGE',
        `the body has ${String(body.length)} bytes, at most ${String(PAYLOAD_MAX_BYTES)} are taken`,
      );
    const sent = createHeaders();
    for (const [name, value] of Object.entries(headers)) sent.set(name, value);
    let reply: Msg;
    try {
      reply = await connection.request(subjects.api(service, endpoint), body, {
        timeout: timeoutMs,
        headers: sent,
      });
    } catch (error) {
      throw unanswered(error, service);
    }
    const refusal = refusalIn(service, reply);
    if (refusal !== undefined) throw refusal;
    const declared = api[service][endpoint] as { readonly response: z.ZodType };
    const { success, data } = declared.response.safeParse(jsonOf(reply));
    if (!success)
      throw new HoldpointError('CONTRACT_INVALID', `${service} gave an answer that breaks its contract`);
    return data as ApiResponse<typeof service, typeof endpoint>;
  };
