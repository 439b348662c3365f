import { join } from 'node:path';
import { readIfPresent } from '@holdpoint/infra/credentials/keep';
import type { Foundation } from '@holdpoint/infra/local/foundation';
import { poll } from '@holdpoint/infra/local/poll';
import { supervise } from '@holdpoint/infra/local/process/supervisor';
import type { Undo } from '@holdpoint/infra/local/undo';
import { type Breakable, startBreakable } from './breakable.ts';
import type { Ended } from './deployment.ts';

const READY_WITHIN_MS = 60_000;
const mainFile = join(import.meta.dirname, '..', 'workers', 'main.ts');

export type WorkersOptions = {
  readonly root: string;
  readonly folder: string;
  readonly foundation: Foundation;
  readonly undo: Undo;
  readonly count: number;
  readonly onEnded: (ended: Ended) => void;
};

/** Processes of a user that run programs and restart after a crash. Resolves when the service knows their program. */
export const startWorkers = async (options: WorkersOptions): Promise<readonly Breakable[]> => {
  const { root, folder, foundation, undo, count, onEnded } = options;
  const { natsUrl, credentialsDir, registry } = foundation;
  const workers: Breakable[] = [];
  undo.add(() => Promise.all(workers.map((worker) => worker.stop())));
  for (let i = 1; i <= count; i += 1) {
    const name = `worker-${String(i)}`;
    const spec = {
      name,
      command: process.execPath,
      args: [mainFile, name, natsUrl, credentialsDir],
      logFile: foundation.logFile(name),
      cwd: root,
    };
    const register = ({ pid }: { readonly pid: number }) => registry.add({ name, pid, marker: folder });
    workers.push(await startBreakable((hooks) => supervise(spec, { ...hooks, onStart: register }), onEnded));
  }
  for (const { name, logFile } of workers)
    await poll(
      async () => ((await readIfPresent(logFile))?.includes('{"ready":') === true ? true : undefined),
      { timeoutMs: READY_WITHIN_MS, what: `${name} is not ready, see ${logFile}` },
    );
  return workers;
};
