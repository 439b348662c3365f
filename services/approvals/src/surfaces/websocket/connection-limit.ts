/** How many connections there may be: altogether, for each person, and from one address without having said who it is. */
export const CONNECTION_LIMITS = { all: 5_000, person: 50, unauthenticated: 100 } as const;

export type ConnectionSlot = { readonly release: () => void };

/** A bounded number of places under each name; undefined when none is left. */
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
