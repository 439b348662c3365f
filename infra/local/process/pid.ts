import { readFile } from 'node:fs/promises';
import { codeOf } from '../problem.ts';
import { run } from '../run.ts';

/** Whether a process exists, also one of another user. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
};

/** The command line of a process; empty when there is none. Process numbers are used again, so one is never enough. */
export const commandOf = async (pid: number): Promise<string> => {
  if (process.platform === 'linux') {
    try {
      return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim();
    } catch {
      return '';
    }
  }
  return run('ps', ['-o', 'command=', '-p', String(pid)], { timeoutMs: 5_000 }).catch(() => '');
};
