import { join } from 'node:path';
import { readIfPresent } from '@holdpoint/infra/credentials/keep';
import type { Child } from '@holdpoint/infra/local/process/child';
import { poll } from '@holdpoint/infra/local/poll';
import { supervise } from '@holdpoint/infra/local/process/supervisor';
import type { Ended } from './deployment.ts';

const READY_WITHIN_MS = 60_000;
const mainFile = join(import.meta.dirname, '..', 'workers', 'main.ts');

/** A process of a user that runs programs. */
export type LocalWorker = {
  readonly name: string;
  readonly logFile: string;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Ends the process; the exit counts as caused. */
  readonly end: (signal: NodeJS.Signals) => void;
  readonly stop: () => Promise<void>;
};

export type WorkersOptions = {
  readonly root: string;
  readonly folder: string;
  readonly credentialsDir: string;
  readonly natsUrl: string;
  readonly count: number;
  readonly onStart: (name: string, child: Child) => Promise<void>;
  readonly onEnded: (ended: Ended) => void;
};

const startLocalWorker = async (name: string, options: WorkersOptions): Promise<LocalWorker> => {
  const { root, folder, credentialsDir, natsUrl, onStart, onEnded } = options;
  const wanted = new Set<number>();
  const logFile = join(folder, 'logs', `${name}.log`);
  const supervised = await supervise(
    {
      name,
      command: process.execPath,
      args: [mainFile, name, natsUrl, credentialsDir],
      logFile,
      cwd: root,
    },
    {
      say: () => undefined,
      onStart: (child) => onStart(name, child),
      onExit: (child, { code, signal }) => {
        const how = signal === null ? `code ${String(code)}` : signal;
        onEnded({ name, at: new Date().toISOString(), how, caused: wanted.has(child.pid) });
      },
    },
  );
  return {
    name,
    logFile,
    signal: supervised.signal,
    end: (signal) => {
      wanted.add(supervised.pid());
      supervised.signal(signal);
    },
    stop: async () => {
      wanted.add(supervised.pid());
      // A frozen process handles no other signal.
      supervised.signal('SIGCONT');
      await supervised.stop();
    },
  };
};

/** Workers that restart after a crash. Resolves when the service knows their program. */
export const startWorkers = async (
  options: WorkersOptions,
  onStarted: (worker: LocalWorker) => void,
): Promise<readonly LocalWorker[]> => {
  const workers: LocalWorker[] = [];
  for (let i = 1; i <= options.count; i += 1) {
    const worker = await startLocalWorker(`worker-${String(i)}`, options);
    onStarted(worker);
    workers.push(worker);
  }
  for (const { name, logFile } of workers)
    await poll(
      async () => ((await readIfPresent(logFile))?.includes('{"ready":') === true ? true : undefined),
      { timeoutMs: READY_WITHIN_MS, what: `${name} is not ready, see ${logFile}` },
    );
  return workers;
};
