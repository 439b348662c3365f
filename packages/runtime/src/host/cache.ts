import type { Loaded } from '../engine/batch.ts';

/** A full cache drops this share of its states. */
const DROPPED_SHARE = 0.1;

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
      if (entries.size <= capacity) return;
      // A Map keeps insertion order, so the first keys are those unused for longest. In portions: to find the first key it
      // passes the places of all that were deleted.
      let left = Math.ceil(capacity * DROPPED_SHARE);
      for (const oldest of entries.keys()) {
        entries.delete(oldest);
        left -= 1;
        if (left === 0) break;
      }
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
