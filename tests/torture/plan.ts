import { z } from 'zod';
import type { Fault, FaultGroup, Surroundings } from './faults/fault.ts';
import { createRandom, type Random } from './random.ts';

export const PlanStep = z.object({
  /** When it begins, in milliseconds from the start of the load. */
  at: z.int().min(0),
  fault: z.string(),
  params: z.record(z.string(), z.json()),
});
export type PlanStep = z.infer<typeof PlanStep>;

/** Which groups of faults there are for a while; none is a quiet time. */
const Mix = z.object({ at: z.int(), until: z.int(), groups: z.array(z.string()) });
type Mix = z.infer<typeof Mix>;

export const Plan = z.object({
  seed: z.string(),
  durationMs: z.int().min(1),
  /** A fault every so often, on average over the whole run. */
  everyMs: z.int().min(1),
  /** Whether some of its tasks are programs; left out, they are where workers can be started. */
  programs: z.boolean().optional(),
  mixes: z.array(Mix),
  steps: z.array(PlanStep),
});
export type Plan = z.infer<typeof Plan>;

export type PlanOptions = {
  readonly seed: string;
  readonly durationMs: number;
  readonly everyMs: number;
  readonly faults: readonly Fault[];
  readonly surroundings: Surroundings;
};

const MIX_MIN_MS = 20_000;
const MIX_MAX_MS = 60_000;
const QUIET_SHARE = 0.25;
const GROUPS_MIN = 2;
const GROUPS_MAX = 4;

const groupsOf = (faults: readonly Fault[]): readonly FaultGroup[] => [
  ...new Set(faults.map(({ group }) => group)),
];

/** Long stretches without any fault are part of the test: what a fault left behind shows there. */
const makeMixes = (random: Random, { durationMs, faults }: PlanOptions): readonly Mix[] => {
  const mixes: Mix[] = [];
  for (let at = 0; at < durationMs; at = mixes.at(-1)?.until ?? durationMs) {
    const until = Math.min(at + random.int(MIX_MIN_MS, MIX_MAX_MS), durationMs);
    // A run shorter than its first mix would otherwise see no fault at all.
    const quiet = at > 0 && random.chance(QUIET_SHARE);
    const count = random.int(GROUPS_MIN, GROUPS_MAX);
    mixes.push({ at, until, groups: quiet ? [] : random.shuffle(groupsOf(faults)).slice(0, count) });
  }
  return mixes;
};

const stepAt = (random: Random, at: number, among: readonly Fault[], around: Surroundings): PlanStep => {
  const fault = random.weighted(among, ({ weight }) => weight);
  return { at, fault: fault.name, params: fault.draw(random, around) };
};

/** The faults of a run. Nothing but the seed and what there is to break decides: the same gives the same. */
export const makePlan = (options: PlanOptions): Plan => {
  const { seed, durationMs, everyMs, faults, surroundings } = options;
  const random = createRandom(`${seed}/plan`);
  const mixes = makeMixes(random, options);
  const steps: PlanStep[] = [];
  for (const { at: from, until, groups } of mixes) {
    const among = faults.filter(({ group }) => groups.includes(group));
    // Closer together than asked for, to make up for the quiet times.
    const spacing = everyMs * (1 - QUIET_SHARE);
    let at = from + Math.round(spacing * random.next());
    while (among.length > 0 && at < until) {
      steps.push(stepAt(random, at, among, surroundings));
      at += Math.round(spacing * (0.5 + random.next()));
    }
  }
  return { seed, durationMs, everyMs, mixes: [...mixes], steps };
};
