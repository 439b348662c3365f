import { encodeRequest, readAnswer } from '@holdpoint/contracts/api/reply';
import type { Api, ApiRequest, ApiResponse } from '@holdpoint/contracts/catalog/api';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import { errors, headers as createHeaders, type Msg, type NatsConnection } from '@nats-io/transport-node';

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

/**
 * Asks services over a connection. Rejects with `HoldpointError`: what the service has refused it with,
 * `RUNTIME_UNAVAILABLE` when no answer came, `CONTRACT_INVALID` when the answer is none.
 */
export const askOver =
  (connection: NatsConnection): AskService =>
  async (service, endpoint, payload, { timeoutMs = ANSWER_TIMEOUT_MS, headers = {} } = {}) => {
    const body = encodeRequest(payload);
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
    return readAnswer(service, endpoint, reply);
  };
