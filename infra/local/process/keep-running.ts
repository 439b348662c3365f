import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from './child.ts';
import { messageOf } from '../problem.ts';

/** A server that can be started again on the files it had. */
type Restartable = { readonly child: () => Child; readonly start: () => Promise<void> };

export type Keeper = { readonly stop: () => Promise<void> };

const BACKOFF_MIN_MS = 200;
const BACKOFF_MAX_MS = 10_000;

/** Starts a server again that ended unasked. Stop this before the server itself. */
export const keepRunning = (
  name: string,
  server: Restartable,
  { say, onStart }: { readonly say: (line: string) => void; readonly onStart: () => Promise<void> },
): Keeper => {
  const stopping = new AbortController();
  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);
  const whenStopped = new Promise<void>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(), { once: true });
  });

  const restart = async (): Promise<void> => {
    for (
      let delayMs = BACKOFF_MIN_MS;
      !stopping.signal.aborted;
      delayMs = Math.min(2 * delayMs, BACKOFF_MAX_MS)
    ) {
      await pause(delayMs);
      if (stopping.signal.aborted) return;
      try {
        await server.start();
        await onStart();
        say(`${name} runs again`);
        return;
      } catch (error) {
        say(`${name} could not be started again: ${messageOf(error)}`);
      }
    }
  };

  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const { logFile, exited } = server.child();
      await Promise.race([exited, whenStopped]);
      if (stopping.signal.aborted) return;
      say(`${name} ended unasked; it is started again (${logFile}.old)`);
      await restart();
    }
  };
  const watching = watch();

  return {
    stop: async () => {
      stopping.abort();
      await watching;
    },
  };
};
