import type { Loaded } from './batch.ts';

/** States of recently used aggregates. A copy is used only while its version equals the locked row's. */
export const createCache = (capacity: number) => {
  const entries = new Map<string, Loaded>();
  return {
    get: (aggregate: string, version: number): Loaded | undefined => {
      const entry = entries.get(aggregate);
      return entry?.version === version ? entry : undefined;
    },
    put: (aggregate: string, loaded: Loaded): void => {
      entries.delete(aggregate);
      entries.set(aggregate, loaded);
      // A Map keeps insertion order, so the first key is the one unused for longest.
      const oldest = entries.keys().next();
      if (entries.size > capacity && oldest.done !== true) entries.delete(oldest.value);
    },
    clear: (): void => entries.clear(),
    forget: (aggregates: Iterable<string>): void => {
      for (const aggregate of aggregates) entries.delete(aggregate);
    },
  };
};
