import type { Clock } from '@holdpoint/runtime/engine/clock';

/** Wakes whoever waits; a ring that nobody waits for is kept. */
export const createBell = (clock: Pick<Clock, 'after'>) => {
  let isRung = false;
  let wake: (() => void) | undefined;
  return {
    ring: (): void => {
      isRung = true;
      wake?.();
    },
    wait: async (withinMs: number): Promise<void> => {
      if (!isRung)
        await new Promise<void>((resolve) => {
          const callOff = clock.after(withinMs, resolve);
          wake = () => {
            callOff();
            resolve();
          };
        });
      isRung = false;
      wake = undefined;
    },
  };
};
