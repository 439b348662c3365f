import type { Loaded } from '../engine/batch.ts';

/** States of recently used aggregates. A copy is used only while its version equals the locked row's. */
export const createCache = (capacity: number) => {
  const entries = new Map<string, Loaded>();
  let clearings = 0;
  return {
    get: (aggregate: string, version: number): Loaded | undefined => {
      const entry = entries.get(aggregate);
      return entry?.version === version ? entry : undefined;
    },
    /** The latest known state, which may be out of date. */
    latest: (aggregate: string): Loaded | undefined => entries.get(aggregate),
    put: (aggregate: string, loaded: Loaded): void => {
      entries.delete(aggregate);
      entries.set(aggregate, loaded);
      // A Map keeps insertion order, so the first key is the one unused for longest.
      const oldest = entries.keys().next();
      if (entries.size > capacity && oldest.done !== true) entries.delete(oldest.value);
    },
    clear: (): void => {
      clearings += 1;
      entries.clear();
    },
    /** Grows with each clearing: a state from before it counts no more. */
    clearings: (): number => clearings,
    forget: (aggregates: Iterable<string>): void => {
      for (const aggregate of aggregates) entries.delete(aggregate);
    },
  };
};
