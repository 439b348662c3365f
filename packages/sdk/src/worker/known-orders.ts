/** As many as may come again while the bus still holds them. */
const KNOWN_MAX = 5_000;

/** Orders that were taken here: one that comes again is worked off, or has been. */
export const createKnownOrders = () => {
  const known = new Set<string>();
  const keyOf = (task: string, lease: number): string => `${task}/${String(lease)}`;
  return {
    /** Whether it is new. */
    add: (task: string, lease: number): boolean => {
      const key = keyOf(task, lease);
      if (known.has(key)) return false;
      known.add(key);
      for (const oldest of known) {
        if (known.size <= KNOWN_MAX) break;
        known.delete(oldest);
      }
      return true;
    },
    /** It was not taken after all. */
    forget: (task: string, lease: number): void => void known.delete(keyOf(task, lease)),
  };
};
