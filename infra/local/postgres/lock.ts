import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfPresent } from '../../credentials/keep.ts';
import { commandOf } from '../process/pid.ts';
import { poll } from '../poll.ts';

const GONE_WITHIN_MS = 20_000;

const serverPid = async (lockFile: string): Promise<number | undefined> => {
  const pid = Number((await readIfPresent(lockFile))?.split('\n')[0]);
  return Number.isInteger(pid) && pid > 1 ? pid : undefined;
};

/**
 * A start that was killed leaves PostgreSQL's lock file, and perhaps PostgreSQL itself. A server that still runs on this
 * very folder is shut down; a lock whose process number belongs to something else by now (or to nothing) is removed,
 * because PostgreSQL would believe it.
 */
export const releaseDataDir = async (dataDir: string): Promise<'free' | 'stopped' | 'stale'> => {
  const lockFile = join(dataDir, 'postmaster.pid');
  const pid = await serverPid(lockFile);
  if (pid === undefined) return 'free';
  // Compares the command line: an ended process keeps its pid until its parent reaps it.
  const serves = async () => (await commandOf(pid)).includes(dataDir);
  if (await serves()) {
    process.kill(pid, 'SIGINT');
    await poll(async () => ((await serves()) ? undefined : true), {
      timeoutMs: GONE_WITHIN_MS,
      what: `PostgreSQL ${pid} of a run before stops`,
    });
    return 'stopped';
  }
  await rm(lockFile, { force: true });
  return 'stale';
};
