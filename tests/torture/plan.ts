import { z } from 'zod';
import type { Instance } from './deployment/deployment.ts';
import type { Fault, FaultGroup, Surroundings } from './faults/fault.ts';
import { createRandom, type Random } from './random.ts';

export const PlanStep = z.object({
  /** Milliseconds from the start of the load. */
  at: z.int().min(0),
  fault: z.string(),
  params: z.record(z.string(), z.json()),
});
export type PlanStep = z.infer<typeof PlanStep>;

/** The groups of faults in a period; an empty list is a quiet period. */
const Mix = z.object({ at: z.int(), until: z.int(), groups: z.array(z.string()) });
type Mix = z.infer<typeof Mix>;

export const Plan = z.object({
  seed: z.string(),
  durationMs: z.int().min(1),
  /** The average interval between faults. */
  everyMs: z.int().min(1),
  /** Whether some tasks are programs. Default: where workers can be started. */
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

/** Quiet periods show the damage that an earlier fault left. */
const makeMixes = (random: Random, { durationMs, faults }: PlanOptions): readonly Mix[] => {
  const mixes: Mix[] = [];
  for (let at = 0; at < durationMs; at = mixes.at(-1)?.until ?? durationMs) {
    const until = Math.min(at + random.int(MIX_MIN_MS, MIX_MAX_MS), durationMs);
    // A short run must not be quiet throughout.
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

/** The plan follows from the seed and the deployment alone. */
export const makePlan = (options: PlanOptions): Plan => {
  const { seed, durationMs, everyMs, faults, surroundings } = options;
  const random = createRandom(`${seed}/plan`);
  const mixes = makeMixes(random, options);
  const steps: PlanStep[] = [];
  for (const { at: from, until, groups } of mixes) {
    const among = faults.filter(({ group }) => groups.includes(group));
    // Closer together, to compensate for quiet periods.
    const spacing = everyMs * (1 - QUIET_SHARE);
    let at = from + Math.round(spacing * random.next());
    while (among.length > 0 && at < until) {
      steps.push(stepAt(random, at, among, surroundings));
      at += Math.round(spacing * (0.5 + random.next()));
    }
  }
  return { seed, durationMs, everyMs, mixes: [...mixes], steps };
};

/** A plan of one form in a deployment of another: a service that shares a process is broken with that process. */
export const planIn = (plan: Plan, instances: readonly Instance[]): Plan => {
  const nameOf = (name: string): string => {
    const [, service, number] = /^(\w+)-(\d+)$/.exec(name) ?? [];
    if (service === undefined || instances.some((each) => each.name === name)) return name;
    const holder = instances.find(
      (each) => each.services.some((own) => own === service) && each.name.endsWith(`-${String(number)}`),
    );
    return holder?.name ?? name;
  };
  const placed = (value: z.core.util.JSONType): z.core.util.JSONType => {
    if (typeof value === 'string') return nameOf(value);
    return Array.isArray(value) ? [...new Set(value.map(placed))] : value;
  };
  const stepIn = ({ params, ...step }: PlanStep): PlanStep => ({
    ...step,
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, placed(value)])),
  });
  return { ...plan, steps: plan.steps.map(stepIn) };
};
