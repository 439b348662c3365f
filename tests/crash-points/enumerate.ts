import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import type { Python } from './python-claimants.ts';
import {
  type Behaviour,
  BEHAVIOURS,
  type Carrier,
  CLAIMANT_FAULTS,
  type Fault,
  FAULTS,
  nameOf,
  type Story,
} from './story.ts';
import { tell } from './tell.ts';

export const CLASSES: readonly EffectClass[] = ['keyed', 'fenced', 'probeable', 'idempotent', 'opaque'];

const faultsOf = (carrier: Carrier): readonly Fault[] =>
  carrier === 'executor' ? FAULTS : [...FAULTS, ...CLAIMANT_FAULTS];

/** A second fault strikes so many steps after the first: while the system recovers. */
const LATER = [3, 11, 29] as const;
/** A story that waits for a person repeats the same few steps. */
const STEPS_MAX = 200;

export type Sum = {
  /** Stories with at least one fault. */
  crashPoints: number;
  doubled: number;
  ungated: number;
  /** Stories with a question to a person, because the outcome was unknown. */
  asked: number;
  readonly ended: Map<string, number>;
  readonly violations: string[];
};

export const emptySum = (): Sum => ({
  crashPoints: 0,
  doubled: 0,
  ungated: 0,
  asked: 0,
  ended: new Map(),
  violations: [],
});

const CARRIED_BY: Readonly<Record<Carrier, string>> = {
  executor: 'executors',
  claimant: 'a small claimant',
  'claimant of the SDK': 'the claimant in TypeScript',
  'claimant in Python': 'the claimant in Python',
};

/** The counts of a run, as it prints them. */
export const countsOf = (carrier: Carrier, sum: Sum): string =>
  `crash points, ${CARRIED_BY[carrier]}: ${String(sum.crashPoints)} points, ${String(sum.doubled)} doubled, ` +
  `${String(sum.ungated)} ungated, ${String(sum.asked)} in doubt for a person`;

/** Tells one story, and adds its result. */
const addTo = async (sum: Sum, story: Story, python: Python | undefined): Promise<void> => {
  const told = await tell(story, python);
  sum.crashPoints += 1;
  sum.doubled += told.doubled;
  sum.ungated += told.ungated;
  if (told.asked > 0) sum.asked += 1;
  sum.ended.set(told.ended, (sum.ended.get(told.ended) ?? 0) + 1);
  if (told.violations.length > 0) sum.violations.push(`${nameOf(story)}: ${told.violations.join('; ')}`);
};

export type Part = {
  readonly carrier: Carrier;
  readonly effectClass: EffectClass;
  readonly behaviour: Behaviour;
  readonly seed: number;
  /** Every so many steps. 1: all of them. */
  readonly every: number;
  /** The first of these steps. */
  readonly from: number;
  /** Whether a second fault follows. */
  readonly twice: boolean;
};

/**
 * Every fault before every step of an undisturbed story, and with `twice` a second one while the system recovers from it, which is
 * another fault at each point.
 */
export const enumerate = async (
  sum: Sum,
  { every, from, twice, ...plain }: Part,
  python?: Python,
): Promise<void> => {
  const { steps } = await tell({ ...plain, points: [] }, python);
  const faults = faultsOf(plain.carrier);
  let counted = 0;
  for (let at = from; at < Math.min(steps, STEPS_MAX); at += every)
    for (const fault of faults) {
      counted += 1;
      if (!twice) await addTo(sum, { ...plain, points: [{ at, fault }] }, python);
      else {
        const second = faults[counted % faults.length] ?? fault;
        const later = at + (LATER[counted % LATER.length] ?? 1);
        const points = [
          { at, fault },
          { at: later, fault: second },
        ];
        await addTo(sum, { ...plain, points }, python);
      }
    }
};

export const partsOf = (carrier: Carrier, every: number, twice: boolean, seed = 1): readonly Part[] =>
  CLASSES.flatMap((effectClass) =>
    BEHAVIOURS.map((behaviour) => ({ carrier, effectClass, behaviour, seed, every, from: 0, twice })),
  );

/** The same number of points, spread over other steps in each part. */
export const spread = (parts: readonly Part[]): readonly Part[] =>
  parts.map((part, index) => ({ ...part, from: Math.floor((index * part.every) / parts.length) }));
