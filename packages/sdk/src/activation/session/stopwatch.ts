import type { Clock } from '@holdpoint/runtime/engine/clock';

/** Measures working time without pauses. */
export const createStopwatch = (clock: Clock, limitMs: number, onOver: () => void) => {
  let leftMs = limitMs;
  let since: number | undefined;
  let callOff = (): void => undefined;

  const pause = (): void => {
    if (since === undefined) return;
    leftMs -= clock.now() - since;
    since = undefined;
    callOff();
  };
  return {
    run: (): void => {
      if (since !== undefined) return;
      since = clock.now();
      callOff = clock.after(Math.max(0, leftMs), onOver);
    },
    pause,
  };
};
