import { createIdentitySource, takesIdentity } from '@holdpoint/contracts/approval/identity';
import { encodeRequest, readAnswer } from '@holdpoint/contracts/catalog/reply';
import type { Api, ApiRequest, ApiResponse } from '@holdpoint/contracts/catalog/api';
import { type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { connectTo, toHoldpointError } from './connection.ts';
import { headersFor } from './headers.ts';
import { type LogSource, logSource } from './logs.ts';
import type { Settings } from './settings.ts';
import { readStored } from './stored.ts';
import { sendInTries, sumOf, triesFor } from './tries.ts';
import { type Watch, watchSubjects } from './watch.ts';

export type CallOptions = {
  /** Time for one try; several tries if omitted. */
  readonly timeoutMs?: number;
  /** Request ID: a resubmission with the same ID finds the same task. */
  readonly requestId?: string;
};

/** The public API and events, typed by the contracts. */
export interface Client {
  readonly connection: NatsConnection;
  /** Login name of the local user, if known. */
  readonly userName?: string;
  /** True if the client has a token to decide with. */
  readonly canDecide?: boolean;
  /** Address of the console, if a local start is running. */
  readonly consoleUrl?: string | undefined;
  /** Resolves to the response. Throws `HoldpointError` with the code of the service. */
  call<S extends ServiceName, E extends keyof Api[S] & string>(
    service: S,
    endpoint: E,
    payload: ApiRequest<S, E>,
    options?: CallOptions,
  ): Promise<ApiResponse<S, E>>;
  /** Calls for every message on these subjects, from then on. */
  watch(filter: string, onMessage: () => void): Promise<Watch>;
  /** Bodies of all stored events on a subject, oldest first; undefined if the stream cannot be read. */
  stored?(subject: string): Promise<readonly unknown[] | undefined>;
  /** Output of a task, or of one of its nodes. */
  logs(task: string, node?: string): LogSource;
  /** The same connection with another token. */
  as?(token: string): Client;
  close(): Promise<void>;
}

/** The API on an existing connection. Closing it closes the connection. */
const clientOn = (connection: NatsConnection, token: string | undefined): Client => {
  const send = async <S extends ServiceName, E extends keyof Api[S] & string>(
    service: S,
    endpoint: E,
    payload: ApiRequest<S, E>,
    options: CallOptions = {},
    identity?: string,
  ): Promise<ApiResponse<S, E>> => {
    const body = encodeRequest(payload);
    const headers = headersFor(service, endpoint, { requestId: options.requestId, token, identity });
    const subject = subjects.api(service, endpoint);
    const tries = triesFor(service, endpoint, options);
    const reply = await sendInTries(tries, (timeout) =>
      connection.request(subject, body, { timeout, headers }),
    ).catch((error: unknown) => {
      throw toHoldpointError(error, service, sumOf(tries));
    });
    return readAnswer(service, endpoint, reply);
  };
  const source =
    token === undefined ? undefined : createIdentitySource(() => send('approvals', 'identify', {}));
  return {
    connection,
    canDecide: token !== undefined,
    call: (service, endpoint, payload, options) =>
      source === undefined || !takesIdentity(service, endpoint)
        ? send(service, endpoint, payload, options)
        : source.withIdentity((identity) => send(service, endpoint, payload, options, identity)),
    watch: (filter, onMessage) => watchSubjects(connection, filter, onMessage),
    stored: (subject) => readStored(connection, subject),
    logs: (task, node) => logSource(connection, task, node),
    as: (other) => clientOn(connection, other),
    close: () => connection.close(),
  };
};

export const createClient = async (settings: Settings): Promise<Client> => ({
  ...clientOn(await connectTo(settings), settings.token),
  consoleUrl: settings.consoleUrl,
});
