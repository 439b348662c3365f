/** Numbers from 0 up to 1, reproducible by their seed (mulberry32). */
export const createChance = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** The seed of this run: HOLDPOINT_TEST_SEED, else a new one. */
export const seedOfRun = (): number =>
  Number(process.env['HOLDPOINT_TEST_SEED'] ?? Date.now() % 1_000_000_000);
