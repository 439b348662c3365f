import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { WATCH_CLOSED, WATCH_PATH } from '@holdpoint/contracts/approval/watch';
import type { Web } from '@holdpoint/runtime/service/http';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Feed } from '../../adapters/feed.ts';
import type { Office } from '../surface-deps.ts';
import { createOrigins } from '../http/origins.ts';
import { refusalOf } from '../http/refusal.ts';
import type { WebSettings } from '../http/settings.ts';
import { sourceOf } from '../http/source.ts';
import { createAnnouncements } from './announcement.ts';
import { type Arrival, attendWatcher, type WatchParts } from './connection.ts';
import { bearerOf, chooseProtocol, pathOf, refuse } from './handshake.ts';
import { createPlaces, PLACES } from './connection-limit.ts';

export type Watch = {
  readonly upgrade: NonNullable<Web['upgrade']>;
  /** How many connections there are. */
  readonly watchers: () => number;
  readonly stop: () => Promise<void>;
};

const MESSAGE_MAX_BYTES = 65_536;
/** Whoever has not ended its side by then is cut off. */
const GOODBYE_MS = 500;

/** Watching over WebSocket: what is asked and decided is pushed, and may be answered on the same connection. */
export const createWatch = (
  office: Office,
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
  const strangers = createPlaces(PLACES.stranger);
  const parts: WatchParts = {
    office,
    feed,
    announce: createAnnouncements(office.tokens.of),
    heartbeatMs,
    persons: createPlaces(PLACES.person),
  };
  let isStopped = false;

  /** Throws what stands against taking this connection over. */
  const admit = (request: IncomingMessage): void => {
    const { origin, host } = request.headers;
    if (pathOf(request) !== WATCH_PATH) throw new HoldpointError('CONTRACT_UNKNOWN_SUBJECT', 'no such path');
    if (!origins.mayConnect(origin, host))
      throw new HoldpointError('APPROVALS_ORIGIN_REFUSED', 'pages of this origin may not connect');
    if (isStopped || server.clients.size >= PLACES.all)
      throw new HoldpointError('RUNTIME_UNAVAILABLE', 'no more connections are taken at the moment');
  };

  const takeOver = (request: IncomingMessage, socket: Duplex, head: Buffer, arrival: Arrival): void =>
    server.handleUpgrade(request, socket, head, (watcher) => attendWatcher(watcher, parts, arrival));

  const receive = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const source = sourceOf(request);
    try {
      admit(request);
      const { authorization } = request.headers;
      if (authorization === undefined) {
        const place = strangers.take(source);
        if (place === undefined)
          throw new HoldpointError('APPROVALS_TOO_MANY_ATTEMPTS', 'too many wait here who say nothing');
        socket.once('close', place.free);
        // A page would not be told why it was refused: it hears so once it is connected.
        return takeOver(request, socket, head, { source, place, authorization: bearerOf(request) });
      }
      const principal = await office.identity.authenticate({ authorization, source }, 'approvals:read');
      admit(request);
      takeOver(request, socket, head, { source, authorization, principal });
    } catch (error) {
      refuse(socket, refusalOf(error, office.log));
    }
  };

  const sayGoodbye = (watcher: WebSocket): Promise<void> =>
    new Promise((resolve) => {
      watcher.once('close', () => resolve());
      watcher.close(WATCH_CLOSED.stopping, 'the service stops: connect again');
    });

  return {
    upgrade: (request, socket, head) => void receive(request, socket, head),
    watchers: () => server.clients.size,
    stop: async () => {
      isStopped = true;
      const parting = Promise.all([...server.clients].map(sayGoodbye));
      await Promise.race([parting, delay(GOODBYE_MS)]);
      for (const watcher of server.clients) watcher.terminate();
      server.close();
    },
  };
};
