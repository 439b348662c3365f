import { setTimeout as sleep } from 'node:timers/promises';
import { livingProcesses } from './process-table.ts';

const POLL_MS = 5;

/** Whether the signal found anybody. */
export const signalGroup = (group: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(-group, signal);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ESRCH') return false;
    // Somebody is there who may not be signalled, such as a program that became another user.
    if (code === 'EPERM') return true;
    throw error;
  }
};

/**
 * Whether anything of a group still lives, but for one that is known. Where nobody takes note of the dead they stay in the
 * table: they do not count.
 */
export const groupLives = async (group: number, except?: number): Promise<boolean> => {
  if (!signalGroup(group, 0)) return false;
  const living = await livingProcesses();
  return living === undefined || living.some((entry) => entry.group === group && entry.pid !== except);
};

/** Waits until nothing of a group lives any more, but for one that is known, and says whether that came true in time. */
export const groupGone = async (group: number, withinMs: number, except?: number): Promise<boolean> => {
  const until = performance.now() + withinMs;
  for (let pause = POLL_MS; await groupLives(group, except); pause = Math.min(pause * 2, 100)) {
    if (performance.now() > until) return false;
    await sleep(pause);
  }
  return true;
};
