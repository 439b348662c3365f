/** At least as many as the bus may redeliver. */
const KNOWN_MAX = 5_000;

/** The orders of this process, to recognise redeliveries. */
export const createKnownOrders = () => {
  const known = new Set<string>();
  const keyOf = (task: string, lease: number): string => `${task}/${String(lease)}`;
  return {
    /** Returns whether the order is new. */
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
    /** The order was not executed after all. */
    forget: (task: string, lease: number): void => void known.delete(keyOf(task, lease)),
  };
};
