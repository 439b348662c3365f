import type { CrashHook } from '../engine/ports.ts';

/**
 * Kills the process at the n-th pass of a crash point, as `HOLDPOINT_TEST_CRASH_POINT` says. With `freeze` the
 * process is suspended there until SIGCONT.
 */
export const crashHook = (setting: string | undefined): CrashHook => {
  const [wanted, count, how] = setting?.split(':') ?? [];
  const signal = how === 'freeze' ? 'SIGSTOP' : 'SIGKILL';
  let left = Number(count ?? 0);
  return (point) => {
    if (point !== wanted) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, signal);
  };
};
