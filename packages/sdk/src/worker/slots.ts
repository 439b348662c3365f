/** Places for work, given out before the work is there: as many orders are asked for as can be worked off at once. */
export type Slots = {
  /** Takes up to so many; 0 when none is free. */
  readonly take: (most: number) => number;
  readonly giveBack: (count: number) => void;
  readonly free: () => number;
};

export const createSlots = (count: number, onFree: () => void): Slots => {
  let free = count;
  return {
    take: (most) => {
      const taken = Math.max(0, Math.min(most, free));
      free -= taken;
      return taken;
    },
    giveBack: (back) => {
      if (back === 0) return;
      free += back;
      onFree();
    },
    free: () => free,
  };
};
