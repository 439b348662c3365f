import { encodeRequest, readAnswer } from '@holdpoint/contracts/api/reply';
import type { Api, ApiRequest, ApiResponse } from '@holdpoint/contracts/catalog/api';
import { type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { connectTo, toHoldpointError } from './connection.ts';
import { headersFor } from './headers.ts';
import type { Settings } from './settings.ts';
import { readStored } from './stored.ts';
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
  /** What this machine calls its user, as far as it knows. */
  readonly userName?: string;
  /** There is a token to make decisions with. */
  readonly canDecide?: boolean;
  /** Resolves to exactly what was answered; throws `HoldpointError`, with the code of the service that refused. */
  call<S extends ServiceName, E extends keyof Api[S] & string>(
    service: S,
    endpoint: E,
    payload: ApiRequest<S, E>,
    options?: CallOptions,
  ): Promise<ApiResponse<S, E>>;
  /** Facts as they come; resolves once nothing that is published from now on will be missed. */
  watch(filter: string, onFact: (fact: Fact) => void, options?: WatchOptions): Promise<Watch>;
  /** The bodies of all facts on one subject that the stream still has, oldest first; undefined when it cannot be read. */
  stored?(subject: string): Promise<readonly unknown[] | undefined>;
  /** The same connection, for somebody with another token. */
  as?(token: string): Client;
  close(): Promise<void>;
}

/** The API on a connection that is there, asked by whoever has the token; closing it closes the connection. */
const clientOn = (connection: NatsConnection, token: string | undefined): Client => ({
  connection,
  canDecide: token !== undefined,
  call: async <S extends ServiceName, E extends keyof Api[S] & string>(
    service: S,
    endpoint: E,
    payload: ApiRequest<S, E>,
    { timeoutMs = ANSWER_TIMEOUT_MS, requestId }: CallOptions = {},
  ) => {
    const body = encodeRequest(payload);
    const headers = headersFor(service, endpoint, { requestId, token });
    const subject = subjects.api(service, endpoint);
    const reply = await connection
      .request(subject, body, { timeout: timeoutMs, headers })
      .catch((error: unknown) => {
        throw toHoldpointError(error, service, timeoutMs);
      });
    return readAnswer(service, endpoint, reply);
  },
  watch: (filter, onFact, options) => watchFacts(connection, filter, onFact, options),
  stored: (subject) => readStored(connection, subject),
  as: (other) => clientOn(connection, other),
  close: () => connection.close(),
});

export const createClient = async (settings: Settings): Promise<Client> =>
  clientOn(await connectTo(settings), settings.token);
