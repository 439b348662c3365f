import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { WatchMessage } from '@holdpoint/contracts/approval/watch';
import { delayOf } from './backoff.ts';

export type WatchState = 'connecting' | 'live' | 'lost';
export type WatchListener = {
  /** An approval with its current state and the latest change. */
  readonly approval: (approval: ApprovalView, change: string) => void;
  /** Updates may be missing: reload. */
  readonly gap: () => void;
};
export type Watch = {
  readonly subscribe: (listener: WatchListener) => () => void;
  readonly state: () => WatchState;
  readonly onState: (changed: (state: WatchState) => void) => () => void;
  readonly stop: () => void;
};

const PATH = 'api/v1/watch';
const PROTOCOL = 'holdpoint.v1';
/** A silent connection is dead after this many heartbeats, even if the browser keeps it. */
const MISSED_MAX = 3;
const UNAUTHENTICATED = 4401;

const messageIn = (data: unknown): WatchMessage | undefined => {
  try {
    return typeof data === 'string' ? (JSON.parse(data) as WatchMessage) : undefined;
  } catch {
    // Not for this page.
    return undefined;
  }
};

/** The one connection for approval updates of the page. It resumes where it ended. */
export const createWatch = (
  token: string,
  { all, onExpired }: { readonly all: boolean; readonly onExpired: () => void },
): Watch => {
  const listeners = new Set<WatchListener>();
  const watchers = new Set<(state: WatchState) => void>();
  let state: WatchState = 'connecting';
  let socket: WebSocket | undefined;
  let seen: number | undefined;
  let tries = 0;
  let isStopped = false;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;

  const turn = (next: WatchState): void => {
    if (state === next) return;
    state = next;
    for (const changed of watchers) changed(next);
  };
  const notify = (approval: ApprovalView, change: string): void => {
    for (const { approval: hear } of listeners) hear(approval, change);
  };
  const gap = (): void => {
    for (const listener of listeners) listener.gap();
  };

  const take = (message: WatchMessage, say: (reply: object) => void): void => {
    switch (message.type) {
      case 'hello':
        say({ type: 'subscribe', after: seen ?? message.seq, ...(all && { all }) });
        seen ??= message.seq;
        return;
      case 'subscribed':
        tries = 0;
        turn('live');
        // Data loaded before the first update may be older than it.
        return gap();
      case 'approval.requested':
      case 'approval.resolved':
        seen = message.seq;
        return notify(message.approval, message.type.slice('approval.'.length));
      case 'approval.updated':
        seen = message.seq;
        return notify(message.approval, message.change);
      case 'reset':
        seen = message.seq;
        return gap();
      case 'ping':
        if (message.seq !== undefined) seen = Math.max(seen ?? 0, message.seq);
        return say({ type: 'pong' });
      case 'approval.responded':
      case 'pong':
      case 'error':
        return undefined;
    }
  };

  const connect = (): void => {
    if (isStopped) return;
    const url = new URL(PATH, document.baseURI);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const mine = new WebSocket(url, [PROTOCOL, `bearer.${token}`]);
    socket = mine;
    let heartbeatMs = 15_000;
    const listen = (): void => {
      clearTimeout(silence);
      silence = setTimeout(() => lost(), heartbeatMs * MISSED_MAX);
    };
    const lost = (code = 0): void => {
      if (socket !== mine) return;
      socket = undefined;
      clearTimeout(silence);
      mine.close();
      if (isStopped) return;
      if (code === UNAUTHENTICATED) return onExpired();
      turn('lost');
      retry = setTimeout(connect, delayOf(tries, Math.random()));
      tries += 1;
    };
    mine.addEventListener('message', ({ data }) => {
      listen();
      const message = messageIn(data);
      if (message?.type === 'hello') heartbeatMs = message.heartbeatMs;
      if (message) take(message, (reply) => mine.send(JSON.stringify(reply)));
    });
    mine.addEventListener('close', ({ code }) => lost(code));
    listen();
  };
  /** Reconnects at once when the page becomes visible or the machine is online again. */
  const hurry = (): void => {
    if (isStopped || socket !== undefined || document.visibilityState === 'hidden') return;
    clearTimeout(retry);
    connect();
  };
  addEventListener('online', hurry);
  document.addEventListener('visibilitychange', hurry);
  connect();

  return {
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    state: () => state,
    onState: (changed) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    stop: () => {
      isStopped = true;
      clearTimeout(retry);
      clearTimeout(silence);
      removeEventListener('online', hurry);
      document.removeEventListener('visibilitychange', hurry);
      socket?.close();
      socket = undefined;
    },
  };
};
