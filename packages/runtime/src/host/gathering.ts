import type { Clock } from '../engine/clock.ts';

/** How long a batch waits for more messages while others keep coming. */
const GATHER_MS = 3;
/** Without a batch for so long the engine is idle, and the next message is decided at once. */
const IDLE_MS = 20;

/**
 * Under load a batch waits a moment for more messages, because each batch has a cost of its own: after a batch of several
 * messages, until `isFull`. A message that comes alone never waits. A lazy message is no load: it rides along.
 */
export const createGathering = (
  clock: Pick<Clock, 'now' | 'after'>,
  isFull: () => boolean,
  /** Every batch waits so long, with load or without. */
  fixedMs?: number,
) => {
  let latest = { size: 0, at: -Infinity };
  let go: (() => void) | undefined;

  return {
    /** Resolves when the next batch shall start. */
    wait: async (): Promise<void> => {
      const isUnderLoad = latest.size > 1 && clock.now() - latest.at <= IDLE_MS;
      if (isFull() || (fixedMs === undefined && !isUnderLoad)) return;
      await new Promise<void>((resolve) => {
        const cancel = clock.after(fixedMs ?? GATHER_MS, resolve);
        go = () => {
          cancel();
          resolve();
        };
      });
      go = undefined;
    },
    arrived: (): void => {
      if (go !== undefined && isFull()) go();
    },
    /** A batch of so many messages has ended, without the lazy ones. */
    ended: (size: number): void => {
      latest = { size, at: clock.now() };
    },
  };
};
