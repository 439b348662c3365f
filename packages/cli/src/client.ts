import { api, type Api, type ApiRequest, type ApiResponse } from '@holdpoint/contracts/catalog';
import { HEADERS } from '@holdpoint/contracts/cloudevents';
import { ErrorBody, type ErrorCode, HoldpointError } from '@holdpoint/contracts/errors';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/streams';
import { type ServiceName, subjects } from '@holdpoint/contracts/subjects';
import { headers as createHeaders, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import type { z } from 'zod';
import { connectTo, toHoldpointError } from './connection.ts';
import type { Settings } from './settings.ts';
import { type Fact, type Watch, watchFacts, type WatchOptions } from './watch.ts';

/** How long an answer is waited for. Every endpoint answers after one commit or one query. */
const ANSWER_TIMEOUT_MS = 5_000;

export type CallOptions = {
  readonly timeoutMs?: number;
  /** Identifies the request: sent again with the same id, a submission without an id of its own finds the same task. */
  readonly requestId?: string;
};

/** The public API and the facts, typed by the contracts. */
export interface Client {
  readonly connection: NatsConnection;
  /** Resolves to exactly what was answered; throws `HoldpointError`, with the code of the service that refused. */
  call<S extends ServiceName, E extends keyof Api[S] & string>(
    service: S,
    endpoint: E,
    payload: ApiRequest<S, E>,
    options?: CallOptions,
  ): Promise<ApiResponse<S, E>>;
  /** Facts as they come; resolves once nothing that is published from now on will be missed. */
  watch(filter: string, onFact: (fact: Fact) => void, options?: WatchOptions): Promise<Watch>;
  close(): Promise<void>;
}

type Endpoint = { readonly response: z.ZodType };

const encode = (payload: unknown): Uint8Array => {
  const body = new TextEncoder().encode(JSON.stringify(payload));
  if (body.length <= PAYLOAD_MAX_BYTES) return body;
  throw new HoldpointError(
    'CONTRACT_PAYLOAD_TOO_LARGE',
    `the body has ${String(body.length)} bytes, at most ${String(PAYLOAD_MAX_BYTES)} are taken`,
  );
};

const jsonOf = (msg: Msg): unknown => {
  try {
    return msg.json();
  } catch {
    // Whoever asks looks at the value, and undefined fits no schema.
    return undefined;
  }
};

/** An error reply of the NATS services framework as the error that it carries. */
const refusalIn = (service: ServiceName, msg: Msg): HoldpointError | undefined => {
  const status = msg.headers?.get('Nats-Service-Error-Code');
  if (!status) return undefined;
  const body = ErrorBody.safeParse(jsonOf(msg));
  if (!body.success) {
    const text = msg.headers?.get('Nats-Service-Error') ?? '';
    return new HoldpointError('RUNTIME_POISON', `${service} failed with ${status} ${text}`);
  }
  const { code, message, details } = body.data;
  // A service of a newer release may know codes that this one does not: they are kept as they are.
  return new HoldpointError(code as ErrorCode, message, details && { details });
};

const checkAnswer = (service: ServiceName, endpoint: string, answer: unknown): void => {
  const declared: Readonly<Record<string, Endpoint>> = api[service];
  const problems = declared[endpoint]?.response.safeParse(answer).error;
  if (problems === undefined) return;
  const said = problems.issues.map(({ path, message }) => `${path.join('.') || '(body)'}: ${message}`).join('; ');
  throw new HoldpointError('CONTRACT_INVALID', `${service} gave an answer that breaks its contract: ${said}`);
};

export const createClient = async (settings: Settings): Promise<Client> => {
  const connection = await connectTo(settings);

  const headersFor = (service: ServiceName, endpoint: string, requestId: string | undefined): MsgHdrs => {
    const headers = createHeaders();
    if (requestId !== undefined) headers.set(HEADERS.id, requestId);
    // The token goes only where a decision is made, not to everybody who serves an endpoint.
    if (service !== 'approvals' || endpoint !== 'decide') return headers;
    if (settings.token === undefined) throw new HoldpointError('APPROVALS_UNAUTHENTICATED', 'a decision needs a token: set HOLDPOINT_TOKEN');
    headers.set('authorization', `Bearer ${settings.token}`);
    return headers;
  };

  return {
    connection,
    call: async <S extends ServiceName, E extends keyof Api[S] & string>(
      service: S,
      endpoint: E,
      payload: ApiRequest<S, E>,
      { timeoutMs = ANSWER_TIMEOUT_MS, requestId }: CallOptions = {},
    ) => {
      const body = encode(payload);
      const headers = headersFor(service, endpoint, requestId);
      const subject = subjects.api(service, endpoint);
      const reply = await connection
        .request(subject, body, { timeout: timeoutMs, headers })
        .catch((error: unknown) => Promise.reject(toHoldpointError(error, service, timeoutMs)));
      const refusal = refusalIn(service, reply);
      if (refusal !== undefined) throw refusal;
      const answer = jsonOf(reply);
      checkAnswer(service, endpoint, answer);
      // Checked, but handed on as it came: what a newer service added is not ours to drop.
      return answer as ApiResponse<S, E>;
    },
    watch: (filter, onFact, options) => watchFacts(connection, filter, onFact, options),
    close: () => connection.close(),
  };
};
