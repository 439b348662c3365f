/** Connections in total, per person, and per address before authentication. */
export const CONNECTION_LIMITS = { all: 5_000, person: 50, unauthenticated: 100 } as const;

export type ConnectionSlot = { readonly release: () => void };

/** Counts slots per name; `take` returns undefined when none is free. */
export const createConnectionLimit = (max: number) => {
  const taken = new Map<string, number>();
  return {
    take: (name: string): ConnectionSlot | undefined => {
      const count = taken.get(name) ?? 0;
      if (count >= max) return undefined;
      taken.set(name, count + 1);
      let held = true;
      return {
        release: () => {
          if (!held) return;
          held = false;
          const left = (taken.get(name) ?? 0) - 1;
          if (left > 0) taken.set(name, left);
          else taken.delete(name);
        },
      };
    },
    taken: (name: string): number => taken.get(name) ?? 0,
  };
};
export type ConnectionLimit = ReturnType<typeof createConnectionLimit>;
