import type { Clock } from '../engine/clock.ts';

/** Node.js replaces a longer time of a timer by 1 ms. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, step) => {
    let leftMs = ms;
    const arm = (): NodeJS.Timeout => {
      const pieceMs = Math.min(leftMs, TIMER_MAX_MS);
      leftMs -= pieceMs;
      return setTimeout(leftMs > 0 ? () => (timeout = arm()) : step, pieceMs);
    };
    let timeout = arm();
    return () => clearTimeout(timeout);
  },
  every: (ms, step) => {
    const interval = setInterval(step, ms);
    return () => clearInterval(interval);
  },
};
