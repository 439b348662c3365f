import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { WATCH_CLOSED, type WatchMessage, WatchRequest } from '@holdpoint/contracts/approval/watch';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import { parseAs, parseJson } from '@holdpoint/runtime/engine/inbound';
import type { RawData, WebSocket } from 'ws';
import type { Feed, Following } from '../../adapters/feed.ts';
import type { Principal } from '../../approval/state.ts';
import type { SurfaceDeps } from '../surface-deps.ts';
import { httpErrorOf } from '../http/http-error.ts';
import { type Announcements, bytesOf, refIn } from './messages.ts';
import { type ConnectionSlot, CONNECTION_LIMITS, type ConnectionLimit } from './connection-limit.ts';

export type WatchParts = {
  readonly deps: SurfaceDeps;
  readonly feed: Feed;
  readonly announce: Announcements;
  readonly heartbeatMs: number;
  readonly persons: ConnectionLimit;
};

/** Credentials of a new connection. */
export type Arrival = {
  readonly source: string;
  readonly authorization?: string | undefined;
  /** Set when the credentials were checked during the upgrade. */
  readonly principal?: Principal;
  /** The slot of a connection that is not authenticated yet. */
  readonly slot?: ConnectionSlot;
};

const AUTHENTICATE_WITHIN_MS = 5_000;
const BAD_MAX = 10;
/** Unanswered heartbeats before the end. One may be due to this process being too busy to read. */
const MISSED_MAX = 2;
/** A client with more unread bytes than this is too slow. */
const BUFFERED_MAX_BYTES = 1_048_576;
/** Catch-up continues below this. */
const BUFFERED_LOW_BYTES = 262_144;

type WatcherSession = { readonly authorization: string; principal: Principal };
type RequestOf<Type extends WatchRequest['type']> = Extract<WatchRequest, { readonly type: Type }>;

const invalid = (problem: string): HoldpointError => new HoldpointError('CONTRACT_INVALID', problem);

/** Serves one WebSocket connection until it ends. */
export const serveWatcher = (
  socket: WebSocket,
  { deps, feed, announce, heartbeatMs, persons }: WatchParts,
  arrival: Arrival,
): void => {
  const { identity, decisions, log } = deps;
  const { source } = arrival;
  let session: WatcherSession | undefined;
  let { slot } = arrival;
  let following: Following | undefined;
  let [bad, waiting, missed] = [0, 0, 0];
  let [isHeldBack, isOver] = [false, false];

  const end = (why: keyof typeof WATCH_CLOSED, text: string): void => {
    if (isOver) return;
    isOver = true;
    following?.stop();
    socket.close(WATCH_CLOSED[why], text);
  };

  const sendText = (text: string): void => {
    if (isOver || socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount > BUFFERED_MAX_BYTES) return end('slow', 'too slow: resume after the last seq');
    socket.send(text, () => {
      if (!isHeldBack || socket.bufferedAmount >= BUFFERED_LOW_BYTES) return;
      isHeldBack = false;
      feed.wake();
    });
  };
  const send = (message: WatchMessage): void => sendText(JSON.stringify(message));

  const requireSession = (): WatcherSession => {
    if (session === undefined)
      throw new HoldpointError('APPROVALS_UNAUTHENTICATED', 'not authenticated: send `authenticate` first');
    return session;
  };

  const welcome = async (authorization: string, principal: Principal): Promise<void> => {
    const { name } = principal;
    const own = persons.take(name);
    if (own === undefined) {
      const text = `at most ${String(CONNECTION_LIMITS.person)} connections per person`;
      send({ type: 'error', error: { code: 'APPROVALS_TOO_MANY_ATTEMPTS', message: text } });
      return end('tooMany', text);
    }
    slot?.release();
    slot = own;
    // The connection has closed meanwhile: nothing else would release the slot.
    if (socket.readyState !== socket.OPEN) own.release();
    clearTimeout(authenticationTimeout);
    session = { authorization, principal };
    send({ type: 'hello', seq: await feed.seq(), name, heartbeatMs });
  };

  const authenticate = async (authorization: string): Promise<void> => {
    if (session !== undefined) throw invalid('type: already authenticated');
    try {
      await welcome(authorization, await identity.authenticate({ authorization, source }, 'approvals:read'));
    } catch (error) {
      const { status, body } = httpErrorOf(error, log);
      send({ type: 'error', error: body });
      if (status === 401) end('unauthenticated', body.code);
      else if (status === 403) end('forbidden', body.code);
      else end(status === 429 ? 'tooMany' : 'unavailable', body.code);
    }
  };

  const mayAskForAll = ({ principal }: WatcherSession, all: boolean | undefined): void => {
    if (all === true && principal.scopes?.includes('audit:read') === false)
      throw new HoldpointError('APPROVALS_SCOPE', 'the token lacks scope audit:read');
  };
  const seesAll = ({ principal }: WatcherSession, all: boolean | undefined): boolean =>
    all === true || identity.isAdministrator(principal);

  const subscribe = async ({ after, all }: RequestOf<'subscribe'>): Promise<void> => {
    const current = requireSession();
    mayAskForAll(current, all);
    const from = after ?? (await feed.seq());
    following?.stop();
    if (isOver) return;
    following = feed.follow(
      {
        onEvent: (event) => {
          const text = announce(event, current.principal, seesAll(current, all));
          if (text !== undefined) sendText(text);
        },
        ready: () => {
          const isReady = socket.bufferedAmount < BUFFERED_LOW_BYTES;
          if (!isReady) isHeldBack = true;
          return isReady;
        },
        onReset: (seq) => send({ type: 'reset', seq }),
      },
      from,
    );
    send({ type: 'subscribed', seq: from });
  };

  /** Authenticates each decision by itself. */
  const respond = async ({ type: _, ref, ...payload }: RequestOf<'approval.respond'>): Promise<void> => {
    const { authorization } = requireSession();
    try {
      const by = await identity.authenticate({ authorization, source }, 'approvals:decide');
      const ok = await decisions.decide(by, payload, { surface: 'websocket' });
      send({ type: 'approval.responded', ref, ok });
    } catch (error) {
      send({ type: 'approval.responded', ref, error: httpErrorOf(error, log).body });
    }
  };

  const handle = async (message: WatchRequest): Promise<void> => {
    switch (message.type) {
      case 'authenticate':
        return authenticate(`Bearer ${message.token}`);
      case 'subscribe':
        return subscribe(message);
      case 'approval.respond':
        return respond(message);
      case 'ping':
        return send({ type: 'pong' });
      case 'pong':
        return undefined;
    }
  };

  const receive = async (data: RawData, isBinary: boolean): Promise<void> => {
    if (isOver) return;
    let message: unknown;
    try {
      if (isBinary) throw invalid('(body): not text');
      message = parseJson(bytesOf(data));
      await handle(parseAs(WatchRequest, message));
      bad = 0;
    } catch (error) {
      bad += 1;
      send({ type: 'error', error: httpErrorOf(error, log).body, ...refIn(message) });
      if (bad >= BAD_MAX) end('badMessages', 'too many invalid messages');
    }
  };

  // Messages are handled one after another; the socket is paused meanwhile.
  let turn: Promise<void> = Promise.resolve();
  const inTurn = (work: () => Promise<void>): void => {
    waiting += 1;
    socket.pause();
    turn = turn.then(work).then(() => {
      waiting -= 1;
      if (waiting === 0) socket.resume();
    });
  };

  const authenticationTimeout = setTimeout(() => {
    if (session === undefined && waiting === 0) end('unauthenticated', 'authentication timed out');
  }, AUTHENTICATE_WITHIN_MS);

  /** Ends the connection when its token was revoked or has expired, but not when the store is unavailable. */
  const reauthenticate = async (current: WatcherSession): Promise<void> => {
    const { authorization } = current;
    try {
      current.principal = await identity.authenticate({ authorization, source }, 'approvals:read');
    } catch (error) {
      const code = error instanceof HoldpointError ? error.code : undefined;
      // Only an invalid token can cause this code.
      if (code === 'APPROVALS_UNAUTHENTICATED' || code === 'APPROVALS_TOO_MANY_ATTEMPTS')
        end('unauthenticated', code);
      else if (code === 'APPROVALS_SCOPE') end('forbidden', code);
      else log.debug(errorFields(error), 'websocket token could not be checked again');
    }
  };
  const heartbeat = setInterval(() => {
    if (missed >= MISSED_MAX && waiting === 0) return socket.terminate();
    missed += 1;
    if (socket.readyState === socket.OPEN) socket.ping();
    send({ type: 'ping', ...(following && { seq: following.seq() }) });
    if (session !== undefined) void reauthenticate(session);
  }, heartbeatMs);

  socket.on('pong', () => (missed = 0));
  socket.on('message', (data, isBinary) => {
    missed = 0;
    inTurn(() => receive(data, isBinary));
  });
  socket.on('error', (error) => log.debug(errorFields(error), 'invalid WebSocket message'));
  socket.on('close', () => {
    isOver = true;
    clearTimeout(authenticationTimeout);
    clearInterval(heartbeat);
    following?.stop();
    slot?.release();
  });

  const { authorization, principal } = arrival;
  if (authorization !== undefined)
    inTurn(() =>
      principal === undefined
        ? authenticate(authorization)
        : welcome(authorization, principal).catch(failWelcome),
    );
  function failWelcome(error: unknown): void {
    send({ type: 'error', error: httpErrorOf(error, log).body });
    end('unavailable', 'try again');
  }
};
