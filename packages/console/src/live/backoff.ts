/** Delay before the next try: grows up to a limit, with jitter. */
export const delayOf = (tries: number, chance: number): number =>
  Math.round(Math.min(15_000, 300 * 2 ** Math.min(tries, 10)) * (0.5 + chance / 2));
