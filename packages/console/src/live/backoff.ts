/** How long to wait before the next try: ever longer, never very long, and never the same for everybody. */
export const delayOf = (tries: number, chance: number): number =>
  Math.round(Math.min(15_000, 300 * 2 ** Math.min(tries, 10)) * (0.5 + chance / 2));
