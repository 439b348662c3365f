import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandOf, isAlive } from '@holdpoint/infra/local/process/pid';
import { run } from '@holdpoint/infra/local/run';

const PREFIX = 'holdpoint-tests-';

/**
 * A folder of its own for every run, named after its process, so that a later run knows whether it still
 * lives.
 */
export const createRunFolder = (): Promise<string> =>
  mkdtemp(join(tmpdir(), `${PREFIX}${String(process.pid)}-`));

/** The process id of the owner of a run folder; undefined for another folder. */
export const ownerOf = (folder: string): number | undefined => {
  const owner = new RegExp(`${PREFIX}(\\d+)-[^/]*$`).exec(folder)?.[1];
  return owner === undefined ? undefined : Number(owner);
};

export const isOrphan = (folder: string): boolean => {
  const owner = ownerOf(folder);
  return owner !== undefined && !isAlive(owner);
};

type Process = { readonly pid: number; readonly command: string };

const runningProcesses = async (): Promise<readonly Process[]> => {
  if (process.platform === 'linux') {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
    return Promise.all(pids.map(async (pid) => ({ pid, command: await commandOf(pid) })));
  }
  const lines = (await run('ps', ['-axww', '-o', 'pid=,command='], { timeoutMs: 10_000 })).split('\n');
  return lines.flatMap((line) => {
    const [, pid, command] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? [];
    return pid === undefined || command === undefined ? [] : [{ pid: Number(pid), command }];
  });
};

/** Each process of a run has the run's folder on its command line, so that the cleanup finds all of them. */
const endProcessesOf = async (folder: string): Promise<void> => {
  for (const { pid, command } of await runningProcesses()) {
    if (pid === process.pid || !command.includes(folder)) continue;
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      // It ended in between.
      if (isAlive(pid)) throw error;
    }
  }
};

const UNMOUNT_WITHIN_MS = 10_000;

/** Removing a folder with a mounted file system in it would retry for minutes. A killed torture leaves such mounts. */
const unmountBelow = async (folder: string): Promise<void> => {
  if (process.platform !== 'linux') return;
  const mounts = (await readFile('/proc/self/mounts', 'utf8'))
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  for (const path of mounts.filter((each) => each.startsWith(`${folder}/`)).toReversed())
    await run('umount', ['-l', path], { timeoutMs: UNMOUNT_WITHIN_MS });
};

/** Ends all processes of a run and removes its folder. */
export const removeRunFolder = async (folder: string): Promise<void> => {
  await endProcessesOf(folder);
  await unmountBelow(folder);
  // A killed server may still be writing its last file.
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
};

/** Removes the processes and folders of killed runs. */
export const removeOrphans = async (): Promise<void> => {
  const folders = (await readdir(tmpdir()))
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => join(tmpdir(), name));
  for (const folder of folders.filter(isOrphan)) await removeRunFolder(folder);
};
