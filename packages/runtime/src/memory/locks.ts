/**
 * Exclusive locks by name. All names of one call are taken together, so that two callers never wait for each
 * other.
 */
export const createLocks = () => {
  const held = new Set<string>();
  const queue: (() => void)[] = [];

  const free = (names: readonly string[]): boolean => names.every((name) => !held.has(name));

  const take = (names: readonly string[]): (() => void) => {
    for (const name of names) held.add(name);
    let mine = true;
    return () => {
      if (!mine) return;
      mine = false;
      for (const name of names) held.delete(name);
      // Each waiter checks in order of arrival, and waits again if a name is still locked.
      for (const waiting of queue.splice(0)) waiting();
    };
  };

  return {
    isHeld: (name: string): boolean => held.has(name),
    acquire: async (names: readonly string[]): Promise<() => void> => {
      while (!free(names)) await new Promise<void>((resolve) => queue.push(resolve));
      return take(names);
    },
    /** Takes the names that are free, and skips the others. */
    acquireFree: (
      names: ReadonlySet<string>,
    ): { readonly taken: readonly string[]; readonly release: () => void } => {
      const taken = [...names].filter((name) => !held.has(name));
      return { taken, release: take(taken) };
    },
  };
};
