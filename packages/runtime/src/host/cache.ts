import type { Loaded } from '../engine/batch.ts';

/** A full cache drops this share of its states. */
const DROPPED_SHARE = 0.1;
/** This share of the states may be of aggregates that are over. Few messages follow to such a state. */
const OVER_SHARE = 0.1;

type Entries = Map<string, Loaded>;

/** Drops the states unused for longest once there are more than `most`. */
const bound = (entries: Entries, most: number): void => {
  if (entries.size <= most) return;
  // A Map keeps insertion order. In portions: to find the first key it passes the places of all that were deleted.
  let left = Math.ceil(most * DROPPED_SHARE);
  for (const oldest of entries.keys()) {
    entries.delete(oldest);
    left -= 1;
    if (left <= 0) break;
  }
};

/** States of recently used aggregates. A copy is used only while its version equals the locked row's. */
export const createCache = (capacity: number) => {
  const open: Entries = new Map();
  const over: Entries = new Map();
  const overMax = Math.ceil(capacity * OVER_SHARE);
  let clearings = 0;
  const latest = (aggregate: string): Loaded | undefined => open.get(aggregate) ?? over.get(aggregate);
  const forget = (aggregates: Iterable<string>): void => {
    for (const aggregate of aggregates) {
      open.delete(aggregate);
      over.delete(aggregate);
    }
  };
  return {
    get: (aggregate: string, version: number): Loaded | undefined => {
      const entry = latest(aggregate);
      return entry?.version === version ? entry : undefined;
    },
    /** The latest known state, which may be out of date. */
    latest,
    put: (aggregate: string, loaded: Loaded, isOver: boolean): void => {
      forget([aggregate]);
      (isOver ? over : open).set(aggregate, loaded);
      bound(over, overMax);
      bound(open, capacity - over.size);
    },
    clear: (): void => {
      clearings += 1;
      open.clear();
      over.clear();
    },
    /** Grows with each clearing: a state from before it counts no more. */
    clearings: (): number => clearings,
    forget,
  };
};
