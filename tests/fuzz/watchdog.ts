import { Worker } from 'node:worker_threads';

/** Far above every case on any machine: only a hang takes longer. */
const CASE_MAX_MS = 30_000;

// The guard runs beside a thread that may hang, so it must not depend on that thread.
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
  readonly begin: (about: string) => void;
  readonly end: () => void;
  readonly stop: () => Promise<void>;
};

/**
 * Timers do not fire while the tested code loops. The watchdog has its own thread: it names the hanging case
 * and ends the process.
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
