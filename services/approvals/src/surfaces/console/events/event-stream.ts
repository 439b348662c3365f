import type { ServerResponse } from 'node:http';
import { PRIVATE } from '../../http/api.ts';

/** More than this has not been taken by the reader: it cannot keep up, and goes on from where it was once it connects again. */
export const UNTAKEN_MAX_BYTES = 1_048_576;
/** Whoever catches up is handed more once less than this is left. */
const UNTAKEN_LOW_BYTES = 262_144;

export type ServerEvent = {
  readonly event: 'fact' | 'log' | 'reset' | 'error';
  /** From where to go on after it. */
  readonly id?: string;
  readonly data: unknown;
};

/** One reader of server-sent events. What it does not take is bounded: a reader that is too slow is cut off. */
export type EventStream = {
  readonly send: (event: ServerEvent) => void;
  readonly beat: () => void;
  /** Resolves once it can take more; false when it has ended instead. */
  readonly ready: () => Promise<boolean>;
  readonly isOver: () => boolean;
  readonly end: () => void;
  readonly ended: Promise<void>;
};

/** Neither an id nor the name of an event holds a line end: what is sent is all on lines of its own. */
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
    // A proxy that gathers what it hands on would keep everything back.
    'x-accel-buffering': 'no',
  });
  response.flushHeaders();

  const write = (text: string): void => {
    if (isOver) return;
    response.write(text);
    if (response.writableLength <= UNTAKEN_MAX_BYTES) return;
    // It does not read: there is no telling it so.
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
