import fc from 'fast-check';
import { fileFor } from './corpus.ts';
import type { FuzzSettings } from './settings.ts';
import type { AnyTarget, Outcome } from './target.ts';
import type { Watchdog } from './watchdog.ts';

/** A shrunk input that broke a promise, with instructions to repeat and keep it. */
export class Broken extends Error {
  override readonly name = 'Broken';
}

const SHOWN_MAX = 4_000;
const shown = (text: string): string =>
  text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}… (${String(text.length)} characters)`;

/** The message and our own stack frames. */
const reasonOf = (error: unknown): string =>
  error instanceof Error
    ? (error.stack ?? error.message)
        .split('\n')
        .filter((line) => !/^ +at .*(node_modules|node:internal)/.test(line))
        .join('\n')
    : JSON.stringify(error);

/** Runs one input under the watchdog. */
export const runCase = async (target: AnyTarget, input: unknown, watchdog: Watchdog): Promise<Outcome> => {
  watchdog.begin(`${target.name} ${shown(JSON.stringify(input))}`);
  try {
    return await target.check(input);
  } finally {
    watchdog.end();
  }
};

const inputsOf = (target: AnyTarget, name: string): fc.Arbitrary<unknown> => {
  const inputs = target.cases[name];
  if (inputs === undefined) throw new Error(`${target.name} has no case ${name}`);
  return inputs;
};

const SAMPLES_MAX = 3_000;

/** The outcomes of one case, from a fixed sequence of inputs that stops once all wanted ones were seen. */
export const outcomesOf = async (
  target: AnyTarget,
  name: string,
  wanted: readonly Outcome[],
  watchdog: Watchdog,
): Promise<ReadonlySet<Outcome>> => {
  const seen = new Set<Outcome>();
  for (const input of sampled(inputsOf(target, name))) {
    if (wanted.every((outcome) => seen.has(outcome))) break;
    seen.add(await runCase(target, input, watchdog));
  }
  return seen;
};

function* sampled(inputs: fc.Arbitrary<unknown>): Generator<unknown> {
  for (let seed = 1; seed <= SAMPLES_MAX / SAMPLE; seed += 1)
    yield* fc.sample(inputs, { seed, numRuns: SAMPLE });
}
const SAMPLE = 20;

/** Tries inputs of one case. Throws `Broken` with the smallest failing input. */
export const keepsPromises = async (
  target: AnyTarget,
  name: string,
  { seed, times }: FuzzSettings,
  watchdog: Watchdog,
): Promise<void> => {
  const inputs = inputsOf(target, name);
  const property = fc.asyncProperty(inputs, async (input) => void (await runCase(target, input, watchdog)));
  const result = await fc.check(property, { seed, numRuns: target.runs * times });
  if (!result.failed) return;
  const input = result.counterexample?.[0];
  const { path, content } = fileFor(target.name, `found by ${name}: say here what it shows`, input);
  throw new Broken(
    [
      `${target.name}, ${name}: broken after ${String(result.numRuns)} inputs and ${String(result.numShrinks)} steps of shrinking`,
      `again with HOLDPOINT_FUZZ_SEED=${String(seed)}; to keep it, write to ${path}:`,
      shown(content),
      reasonOf(result.errorInstance),
    ].join('\n'),
  );
};
