import type { Place } from '../domain/effect.ts';

/** A fixed number of places for running effects: who has one may begin, everybody else stays prepared in the ledger. */
export const createPlaces = (worker: string, count: number) => {
  const taken = new Set<number>();
  const waiting: ((place: Place) => void)[] = [];
  let last = 0;

  const take = (): Place | undefined => {
    if (taken.size >= count) return undefined;
    last += 1;
    taken.add(last);
    return { worker, slot: last };
  };

  return {
    take,
    /** Gives a place back, and so to whoever waits longest. Giving it back twice does nothing. */
    free: (slot: number): void => {
      if (!taken.delete(slot)) return;
      const place = waiting.length > 0 ? take() : undefined;
      if (place !== undefined) waiting.shift()?.(place);
    },
    /** Calls back with a place: now, or when one is free. */
    wait: (then: (place: Place) => void): void => {
      const place = take();
      if (place === undefined) waiting.push(then);
      else then(place);
    },
    inUse: (): number => taken.size,
  };
};
export type Places = ReturnType<typeof createPlaces>;
