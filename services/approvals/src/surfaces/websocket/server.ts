import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import {
  BEARER_PROTOCOL,
  WATCH_CLOSED,
  WATCH_PATH,
  WATCH_PROTOCOL,
} from '@holdpoint/contracts/approval/watch';
import type { Web } from '@holdpoint/runtime/service/http';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Feed } from '../../adapters/feed.ts';
import type { SurfaceDeps } from '../surface-deps.ts';
import { createOrigins } from '../http/origins.ts';
import { type HttpError, httpErrorOf } from '../http/http-error.ts';
import type { WebSettings } from '../http/settings.ts';
import { createAnnouncements } from './messages.ts';
import { type Arrival, serveWatcher, type WatchParts } from './connection.ts';
import { createConnectionLimit, CONNECTION_LIMITS } from './connection-limit.ts';

export type Watch = {
  readonly upgrade: NonNullable<Web['upgrade']>;
  readonly watchers: () => number;
  readonly stop: () => Promise<void>;
};

const MESSAGE_MAX_BYTES = 65_536;
/** Clients that do not close by then are disconnected. */
const CLOSE_WITHIN_MS = 500;

const CREDENTIALS_MAX = 8_192;

/** The token in a subprotocol, as an authorization header. */
const bearerOf = ({ headers }: IncomingMessage): string | undefined => {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());
  const token = offered.find((each) => each.startsWith(BEARER_PROTOCOL))?.slice(BEARER_PROTOCOL.length);
  return token === undefined || token.length > CREDENTIALS_MAX ? undefined : `Bearer ${token}`;
};

/** Selects the protocol to answer with. Never the one with the token: the choice is sent back. */
const chooseProtocol = (offered: ReadonlySet<string>): string | false =>
  offered.has(WATCH_PROTOCOL) && WATCH_PROTOCOL;

const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? '';

/** Answers the upgrade with an HTTP error and closes the socket. */
const refuse = (socket: Duplex, { status, body, headers }: HttpError): void => {
  const text = JSON.stringify(body);
  const head = {
    ...headers,
    connection: 'close',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`);
  socket.once('finish', () => socket.destroy());
  socket.end([`HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ''}`, ...lines, '', text].join('\r\n'));
};

/** The WebSocket surface: sends events of approvals, and takes decisions on the same connection. */
export const createWatch = (
  deps: SurfaceDeps,
  feed: Feed,
  { HOLDPOINT_WEB_ORIGINS, HOLDPOINT_WATCH_HEARTBEAT_MS: heartbeatMs }: WebSettings,
): Watch => {
  const origins = createOrigins(HOLDPOINT_WEB_ORIGINS);
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: MESSAGE_MAX_BYTES,
    perMessageDeflate: false,
    handleProtocols: chooseProtocol,
  });
  const unauthenticated = createConnectionLimit(CONNECTION_LIMITS.unauthenticated);
  const parts: WatchParts = {
    deps,
    feed,
    announce: createAnnouncements(deps.tokens.of),
    heartbeatMs,
    persons: createConnectionLimit(CONNECTION_LIMITS.person),
  };
  let isStopped = false;

  /** Throws `HoldpointError` when the connection is refused. */
  const admit = (request: IncomingMessage): void => {
    const { origin, host } = request.headers;
    if (pathOf(request) !== WATCH_PATH) throw new HoldpointError('CONTRACT_UNKNOWN_SUBJECT', 'no such path');
    if (!origins.mayConnect(origin, host))
      throw new HoldpointError('APPROVALS_ORIGIN_REFUSED', 'this origin is not allowed');
    if (isStopped || server.clients.size >= CONNECTION_LIMITS.all)
      throw new HoldpointError('RUNTIME_UNAVAILABLE', 'too many connections; try again later');
  };

  const acceptConnection = (request: IncomingMessage, socket: Duplex, head: Buffer, arrival: Arrival): void =>
    server.handleUpgrade(request, socket, head, (watcher) => serveWatcher(watcher, parts, arrival));

  const receive = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const source = deps.sourceOf(request);
    try {
      admit(request);
      const { authorization } = request.headers;
      if (authorization === undefined) {
        const slot = unauthenticated.take(source);
        if (slot === undefined)
          throw new HoldpointError(
            'APPROVALS_TOO_MANY_ATTEMPTS',
            'too many unauthenticated connections from this address',
          );
        socket.once('close', slot.release);
        // Browsers hide the status of a failed upgrade, so a wrong token is reported after it.
        return acceptConnection(request, socket, head, { source, slot, authorization: bearerOf(request) });
      }
      const principal = await deps.identity.authenticate({ authorization, source }, 'approvals:read');
      admit(request);
      acceptConnection(request, socket, head, { source, authorization, principal });
    } catch (error) {
      refuse(socket, httpErrorOf(error, deps.log));
    }
  };

  const closeWatcher = (watcher: WebSocket): Promise<void> =>
    new Promise((resolve) => {
      watcher.once('close', () => resolve());
      watcher.close(WATCH_CLOSED.stopping, 'the service is stopping: connect again');
    });

  return {
    upgrade: (request, socket, head) => void receive(request, socket, head),
    watchers: () => server.clients.size,
    stop: async () => {
      isStopped = true;
      const parting = Promise.all([...server.clients].map(closeWatcher));
      await Promise.race([parting, delay(CLOSE_WITHIN_MS)]);
      for (const watcher of server.clients) watcher.terminate();
      server.close();
    },
  };
};
