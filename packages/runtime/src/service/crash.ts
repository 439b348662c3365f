import type { CrashHook } from '../engine/ports.ts';

/**
 * Ends the process at the n-th pass of a point, as `HOLDPOINT_TEST_CRASH_POINT` asks: a crash that tests can place exactly. With `freeze`
 * it is stopped there, until somebody lets it go on.
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
