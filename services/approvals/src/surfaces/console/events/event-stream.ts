import type { ServerResponse } from 'node:http';
import { PRIVATE } from '../../http/api.ts';

/** A reader with more unread bytes than this is too slow. It resumes when it connects again. */
export const UNTAKEN_MAX_BYTES = 1_048_576;
/** Catch-up continues below this. */
const UNTAKEN_LOW_BYTES = 262_144;

export type ServerEvent = {
  readonly event: 'event' | 'log' | 'reset' | 'error';
  /** The reader resumes after this id. */
  readonly id?: string;
  readonly data: unknown;
};

/** One client of server-sent events. Unread data is bounded: a client that is too slow is disconnected. */
export type EventStream = {
  readonly send: (event: ServerEvent) => void;
  readonly beat: () => void;
  /** Resolves to true once it can take more, and to false when it has ended. */
  readonly ready: () => Promise<boolean>;
  readonly isOver: () => boolean;
  readonly end: () => void;
  readonly ended: Promise<void>;
};

/** Neither ids nor event names contain line breaks, and JSON is one line. */
export const textOf = ({ event, id, data }: ServerEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

export const openEventStream = (response: ServerResponse): EventStream => {
  let isOver = false;
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const each of waiting) each();
    waiting.clear();
  };
  const { promise: ended, resolve: resolveEnded } = Promise.withResolvers<void>();
  const over = (): void => {
    isOver = true;
    wake();
    resolveEnded();
  };
  response.once('close', over);
  response.on('error', over);
  response.on('drain', wake);
  response.writeHead(200, {
    ...PRIVATE,
    'content-type': 'text/event-stream; charset=utf-8',
    // Prevents proxies from buffering the stream.
    'x-accel-buffering': 'no',
  });
  response.flushHeaders();

  const write = (text: string): void => {
    if (isOver) return;
    response.write(text);
    if (response.writableLength <= UNTAKEN_MAX_BYTES) return;
    // The client does not read, so no error event would reach it.
    response.destroy();
    over();
  };

  return {
    send: (event) => write(textOf(event)),
    beat: () => write(': hb\n\n'),
    ready: async () => {
      while (!isOver && response.writableLength >= UNTAKEN_LOW_BYTES)
        await new Promise<void>((resolve) => waiting.add(resolve));
      return !isOver;
    },
    isOver: () => isOver,
    end: () => {
      if (isOver) return;
      response.end();
      over();
    },
    ended,
  };
};
