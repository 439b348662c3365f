import { encodeRequest, readAnswer } from '@holdpoint/contracts/catalog/reply';
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

/** Calls an endpoint of a service. */
export type AskService = <S extends ServiceName, E extends keyof Api[S] & string>(
  service: S,
  endpoint: E,
  payload: ApiRequest<S, E>,
  options?: AskOptions,
) => Promise<ApiResponse<S, E>>;

/** Every failure may be temporary, except a missing permission. */
const unanswered = (error: unknown, service: ServiceName): HoldpointError => {
  const reason = error instanceof errors.RequestError ? (error.cause ?? error) : error;
  if (reason instanceof errors.PermissionViolationError)
    return new HoldpointError('ERR_FORBIDDEN', `this NATS user has no permission to call ${service}`, {
      cause: error,
    });
  return new HoldpointError('RUNTIME_UNAVAILABLE', `${service} does not answer`, { cause: error });
};

/**
 * Calls services over a connection. Rejects with `HoldpointError`: the service's own error,
 * `RUNTIME_UNAVAILABLE` without an answer, or `CONTRACT_INVALID` for an invalid answer.
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
