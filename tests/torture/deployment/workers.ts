import { join } from 'node:path';
import { readIfPresent } from '@holdpoint/infra/credentials/keep';
import type { Foundation } from '@holdpoint/infra/local/foundation';
import { poll } from '@holdpoint/infra/local/poll';
import { supervise } from '@holdpoint/infra/local/process/supervisor';
import type { Undo } from '@holdpoint/infra/local/undo';
import { type Breakable, startBreakable } from './breakable.ts';
import type { Ended } from './deployment.ts';

const READY_WITHIN_MS = 60_000;
const folderOfPrograms = join(import.meta.dirname, '..', 'workers');

export type WorkersOptions = {
  readonly root: string;
  readonly folder: string;
  readonly foundation: Foundation;
  readonly undo: Undo;
  /** Workers of programs. As many claimants start beside them: the first over NATS, the others over HTTP. */
  readonly count: number;
  /** The address that claimants over HTTP use. */
  readonly console: string;
  readonly onEnded: (ended: Ended) => void;
};

/**
 * Processes of a user that run programs or claim effects, and restart after a crash. Resolves when the services know their
 * programs and capabilities.
 */
export const startWorkers = async (options: WorkersOptions): Promise<readonly Breakable[]> => {
  const { root, folder, foundation, undo, count, console, onEnded } = options;
  const { natsUrl, credentialsDir, registry } = foundation;
  const workers: Breakable[] = [];
  undo.add(() => Promise.all(workers.map((worker) => worker.stop())));
  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  const programs = [
    ...numbers.map((n) => ({ name: `worker-${String(n)}`, file: 'main.ts', more: [] })),
    ...numbers.map((n) => ({
      name: `claimant-${String(n)}`,
      file: 'claimant.ts',
      more: [console, n === 1 ? 'nats' : 'http'],
    })),
  ];
  for (const { name, file, more } of programs) {
    const spec = {
      name,
      command: process.execPath,
      args: [join(folderOfPrograms, file), name, natsUrl, credentialsDir, ...more],
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
