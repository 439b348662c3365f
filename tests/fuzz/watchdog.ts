import { Worker } from 'node:worker_threads';

/** Far above what any case takes, on any machine: only what hangs gets there. */
const CASE_MAX_MS = 30_000;

// Runs beside the thread that may hang, so it has to be started and fed without that thread's help.
const GUARD = `
  const { parentPort } = require('node:worker_threads');
  const { writeSync } = require('node:fs');
  let timer;
  parentPort.on('message', (about) => {
    clearTimeout(timer);
    if (about === undefined) return;
    timer = setTimeout(() => {
      writeSync(2, 'a case hangs: ' + about + '\\n');
      process.kill(process.pid, 'SIGKILL');
    }, ${String(CASE_MAX_MS)});
  });
`;

export type Watchdog = {
  /** A case begins. */
  readonly begin: (about: string) => void;
  readonly end: () => void;
  readonly stop: () => Promise<void>;
};

/**
 * No timer of a test fires while the code under test loops. This one runs in a thread of its own: it names the case that
 * hangs, and ends the process.
 */
export const startWatchdog = (): Watchdog => {
  const worker = new Worker(GUARD, { eval: true });
  worker.unref();
  const say = (about: string | undefined): void => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
    worker.postMessage(about);
  };
  return {
    begin: say,
    end: () => say(undefined),
    stop: async () => void (await worker.terminate()),
  };
};
