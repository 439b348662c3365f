/** A fixed seed repeats a run; more runs search further. */
export type FuzzSettings = { readonly seed: number; readonly times: number };

const numberIn = (env: NodeJS.ProcessEnv, name: string, otherwise: number): number => {
  const text = env[name];
  if (text === undefined || text === '') return otherwise;
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new Error(`${name} has to be a whole number`);
  return number;
};

export const readFuzzSettings = (env: NodeJS.ProcessEnv): FuzzSettings => ({
  seed: numberIn(env, 'HOLDPOINT_FUZZ_SEED', Date.now() % 1_000_000_000),
  times: numberIn(env, 'HOLDPOINT_FUZZ_RUNS', 1),
});
