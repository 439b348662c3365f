/** How much is tried. A seed that is given makes the run the same again; more runs look further. */
export type FuzzSettings = { readonly seed: number; readonly times: number };

const numberIn = (env: NodeJS.ProcessEnv, name: string, otherwise: number): number => {
  const text = env[name];
  if (text === undefined || text === '') return otherwise;
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new Error(`${name} has to be a whole number`);
  return number;
};

/** HOLDPOINT_FUZZ_SEED, else a new seed; HOLDPOINT_FUZZ_RUNS multiplies the number of cases. */
export const readFuzzSettings = (env: NodeJS.ProcessEnv): FuzzSettings => ({
  seed: numberIn(env, 'HOLDPOINT_FUZZ_SEED', Date.now() % 1_000_000_000),
  times: numberIn(env, 'HOLDPOINT_FUZZ_RUNS', 1),
});
