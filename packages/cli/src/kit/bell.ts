export type Bell = {
  readonly ring: () => void;
  readonly wait: (timeoutMs: number) => Promise<void>;
};

/** A wake-up signal. A ring without a waiter is kept for the next wait. */
export const createBell = (): Bell => {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring: (): void => {
      rung = true;
      wake?.();
    },
    wait: async (timeoutMs: number): Promise<void> => {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      rung = false;
      wake = undefined;
    },
  };
};
