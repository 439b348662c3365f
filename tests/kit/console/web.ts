import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { WATCH_PATH, WatchMessage, type WatchRequest } from '@holdpoint/contracts/approval/watch';
import { type ClientOptions, WebSocket } from 'ws';
import { Hopeless, until } from '../until.ts';

export type Answered = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { readonly [name: string]: unknown };
};

export type Call = {
  readonly method?: string;
  readonly token?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Calls the HTTP API. A text or bytes body is sent unchanged. */
export const callHttp = async (
  port: number,
  path: string,
  { method = 'GET', token, body, headers = {} }: Call = {},
): Promise<Answered> => {
  const raw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(`http://127.0.0.1:${String(port)}${path}`, {
    method,
    headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    ...(body !== undefined && { body: raw ? Buffer.from(body) : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? {} : (JSON.parse(text) as Answered['body']),
  };
};

/** Sends exactly these bytes, and reads until the other side closes the connection. */
export const callRaw = (port: number, text: string): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // An answer before a reset counts as well.
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(Buffer.concat(chunks).toString()));
  });

type Of<Type extends WatchMessage['type']> = Extract<WatchMessage, { readonly type: Type }>;

export type Watcher = {
  readonly socket: WebSocket;
  readonly messages: readonly WatchMessage[];
  readonly say: (message: WatchRequest | string | Uint8Array | object) => void;
  /** The first message of a type that meets the condition; waits for it. */
  readonly first: <Type extends WatchMessage['type']>(
    type: Type,
    condition?: (message: Of<Type>) => boolean,
  ) => Promise<Of<Type>>;
  /** Messages of these types, in the order of their arrival. */
  readonly all: <Type extends WatchMessage['type']>(...types: readonly Type[]) => readonly Of<Type>[];
  /** The close code; waits for it. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  readonly stop: () => Promise<void>;
};

export type WatcherOptions = {
  /** Sent in the header. */
  readonly token?: string;
  readonly protocols?: readonly string[];
  readonly options?: ClientOptions;
};

/** An independent client of the WebSocket. */
export const openWatcher = (
  port: number,
  { token, protocols = [], options = {} }: WatcherOptions,
): Watcher => {
  const socket = new WebSocket(`ws://127.0.0.1:${String(port)}${WATCH_PATH}`, [...protocols], {
    ...options,
    headers: { ...options.headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
  });
  const messages: WatchMessage[] = [];
  socket.on('message', (data: Buffer) => messages.push(WatchMessage.parse(JSON.parse(data.toString()))));
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  socket.on('error', () => undefined);
  const isOf =
    <Type extends WatchMessage['type']>(types: readonly Type[]) =>
    (message: WatchMessage): message is Of<Type> =>
      (types as readonly string[]).includes(message.type);
  return {
    socket,
    messages,
    closed,
    say: (message) =>
      socket.send(
        typeof message === 'string' || message instanceof Uint8Array ? message : JSON.stringify(message),
      ),
    first: (type, condition = () => true) =>
      until(`a watcher receives ${type}`, () => {
        const message = messages.filter(isOf([type])).find(condition);
        if (message === undefined && socket.readyState === socket.CLOSED)
          throw new Hopeless(`a watcher whose connection has ended is not told ${type}`);
        return message;
      }),
    all: (...types) => messages.filter(isOf(types)),
    stop: async () => {
      socket.close();
      await Promise.race([closed, delay(1_000)]);
      socket.terminate();
    },
  };
};
