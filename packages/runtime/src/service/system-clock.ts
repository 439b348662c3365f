import type { Clock } from '../engine/clock.ts';

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, step) => {
    const timeout = setTimeout(step, ms);
    return () => clearTimeout(timeout);
  },
  every: (ms, step) => {
    const interval = setInterval(step, ms);
    return () => clearInterval(interval);
  },
};
