import type { Clock } from '../engine/clock.ts';

/** Another process may leave something behind: a look takes place at least so often. */
const LOOK_EVERY_MS = 5_000;
/** What only one process writes is known to it. But the clock of the store may be corrected. */
const LOOK_ALONE_EVERY_MS = 15_000;

/**
 * When to look into the store for something that becomes due. It knows what this process has written, and what the latest look
 * has found, so that a process at rest asks seldom. Without a clock every look takes place. `isAlone`: no other process writes while this one
 * looks.
 */
export const createLooks = (clock: Pick<Clock, 'now'> | undefined, isAlone = false) => {
  const everyMs = isAlone ? LOOK_ALONE_EVERY_MS : LOOK_EVERY_MS;
  let quietUntil = -Infinity;
  let pressingUntil = -Infinity;
  const now = (): number => clock?.now() ?? 0;

  return {
    isDue: (): boolean => clock === undefined || now() >= quietUntil || now() < pressingUntil,
    /** Looks. `ask` returns the milliseconds until the next thing is due, without a limit if there is none. */
    look: async (ask: () => Promise<number>): Promise<number> => {
      const began = now();
      // What is written during the look counts too: it may be missing from the answer.
      quietUntil = began + everyMs;
      try {
        const left = await ask();
        quietUntil = Math.min(quietUntil, began + left);
        return left;
      } catch (error) {
        quietUntil = -Infinity;
        throw error;
      }
    },
    /** Something will be due after so many milliseconds. */
    expect: (leftMs: number): void => {
      quietUntil = Math.min(quietUntil, now() + leftMs);
    },
    /** Something may have been left undone: every look takes place for a while. */
    press: (forMs: number): void => {
      pressingUntil = now() + forMs;
    },
    /** What is known does not count any more. */
    forget: (): void => {
      quietUntil = -Infinity;
    },
  };
};
