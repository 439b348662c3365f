import { setTimeout as sleep } from 'node:timers/promises';
import { livingProcesses } from './process-table.ts';

const POLL_MS = 5;

/** False when the group has no process. */
export const signalGroup = (group: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(-group, signal);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ESRCH') return false;
    // A process exists that may not be signalled, such as one of another user.
    if (code === 'EPERM') return true;
    throw error;
  }
};

/** Whether a process of the group lives, other than `except`. Zombies do not count. */
export const groupLives = async (group: number, except?: number): Promise<boolean> => {
  if (!signalGroup(group, 0)) return false;
  const living = await livingProcesses();
  return living === undefined || living.some((entry) => entry.group === group && entry.pid !== except);
};

/** Waits until no process of the group lives, other than `except`. False after the time limit. */
export const groupGone = async (group: number, withinMs: number, except?: number): Promise<boolean> => {
  const until = performance.now() + withinMs;
  for (let pause = POLL_MS; await groupLives(group, except); pause = Math.min(pause * 2, 100)) {
    if (performance.now() > until) return false;
    await sleep(pause);
  }
  return true;
};
