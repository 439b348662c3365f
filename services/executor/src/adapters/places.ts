import type { Place } from '../domain/effect.ts';

/** A fixed number of places for running effects: who has one may begin, everybody else stays prepared in the ledger. */
export const createPlaces = (worker: string, count: number) => {
  const taken = new Set<number>();
  const waiting: ((place: Place) => void)[] = [];
  let last = 0;
  let open = true;

  const take = (): Place | undefined => {
    if (!open || taken.size >= count) return undefined;
    last += 1;
    taken.add(last);
    return { worker, slot: last };
  };

  /** For somebody who waits. */
  const forNext = (): Place | undefined => (waiting.length > 0 ? take() : undefined);

  return {
    take,
    /** Gives a place back, and so to whoever waits longest. Giving it back twice does nothing. */
    free: (slot: number): void => {
      if (!taken.delete(slot)) return;
      const place = forNext();
      if (place !== undefined) waiting.shift()?.(place);
    },
    /** Calls back with a place: now, or when one is free. */
    wait: (then: (place: Place) => void): void => {
      const place = take();
      if (place === undefined) waiting.push(then);
      else then(place);
    },
    inUse: (): number => taken.size,
    /** While they are closed nothing begins; what has begun goes on. */
    close: (): void => {
      open = false;
    },
    open: (): void => {
      open = true;
      for (let place = forNext(); place !== undefined; place = forNext()) waiting.shift()?.(place);
    },
    areOpen: (): boolean => open,
  };
};
export type Places = ReturnType<typeof createPlaces>;
