/** The same seed gives the same inputs; more runs search further. */
export type FuzzSettings = { readonly seed: number; readonly times: number };

const numberIn = (env: NodeJS.ProcessEnv, name: string, otherwise: number): number => {
  const text = env[name];
  if (text === undefined || text === '') return otherwise;
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new Error(`${name} must be a whole number`);
  return number;
};

export const readFuzzSettings = (env: NodeJS.ProcessEnv): FuzzSettings => ({
  // A gate must not depend on chance: `npm run prove` brings fresh seeds.
  seed: numberIn(env, 'HOLDPOINT_FUZZ_SEED', 1),
  times: numberIn(env, 'HOLDPOINT_FUZZ_RUNS', 1),
});
