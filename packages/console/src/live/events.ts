import { type Caller, CallError } from '../session/call.ts';
import { delayOf } from './backoff.ts';
import { createEventReader, type ServerEvent } from './sse.ts';

export type EventsState = 'connecting' | 'live' | 'lost';
export type Following = { readonly stop: () => void };

/** A silent connection is dead after three heartbeats of the gateway. */
const SILENT_MAX_MS = 45_000;

type EventCallbacks = {
  readonly event: (event: ServerEvent) => void;
  readonly state: (state: EventsState) => void;
};

/**
 * Follows server-sent events and resumes after the last seen ID. Uses `fetch`, because the token travels in a header
 * and never in an address.
 */
export const followEvents = (
  caller: Caller,
  path: string,
  after: string | undefined,
  callbacks: EventCallbacks,
): Following => {
  const stopped = new AbortController();
  let seen = after;
  let tries = 0;

  const readAll = async (): Promise<void> => {
    const over = new AbortController();
    const signal = AbortSignal.any([stopped.signal, over.signal]);
    let silence = setTimeout(() => over.abort(), SILENT_MAX_MS);
    try {
      const cursor = seen === undefined ? '' : `&after=${encodeURIComponent(seen)}`;
      const { body } = await caller.open(`${path}${cursor}`, signal);
      if (body === null) return;
      const read = createEventReader();
      const reader = body.pipeThrough(new TextDecoderStream()).getReader();
      callbacks.state('live');
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        tries = 0;
        clearTimeout(silence);
        silence = setTimeout(() => over.abort(), SILENT_MAX_MS);
        for (const event of read(value)) {
          if (event.id !== undefined && event.id !== '') seen = event.id;
          if (event.type === 'reset') seen = event.id ?? undefined;
          callbacks.event(event);
        }
      }
    } finally {
      clearTimeout(silence);
      over.abort();
    }
  };

  const follow = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      try {
        await readAll();
      } catch (error) {
        // A permanent refusal: do not retry.
        if (error instanceof CallError && error.status >= 400 && error.status < 500 && error.status !== 429)
          return callbacks.state('lost');
      }
      if (stopped.signal.aborted) return;
      callbacks.state('lost');
      await new Promise((resolve) => setTimeout(resolve, delayOf(tries, Math.random())));
      tries += 1;
    }
  };
  void follow();
  return { stop: () => stopped.abort() };
};
