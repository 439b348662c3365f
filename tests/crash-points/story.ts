import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';

/** Who carries the effect out: an executor itself, a small client of these tests, or the claimant of a package. */
export type Carrier = 'executor' | 'claimant' | 'claimant of the SDK' | 'claimant in Python';

/** What the function does at its first run. A repeat always does its work. */
export type Behaviour = 'applies' | 'applies slowly' | 'fails before it acts' | 'acts and gets no answer';
export const BEHAVIOURS: readonly Behaviour[] = [
  'applies',
  'applies slowly',
  'fails before it acts',
  'acts and gets no answer',
];

/** Faults on every carrier. */
export const FAULTS = [
  'executor 1 dies',
  'executor 2 dies',
  'executor 1 freezes past the lease',
  'executor 2 freezes past the lease',
  'everything dies',
  'the database goes away',
  'the database is restored as it was at first',
  'the database is restored as it was half-way',
  'the database is restored as it was just before',
] as const;

/** Faults between claimants and executors. */
export const CLAIMANT_FAULTS = [
  'claimant 1 dies',
  'claimant 2 dies',
  'claimant 1 freezes past the lease',
  'claimant 2 freezes past the lease',
  'requests of claimants are lost',
  'answers to claimants are lost',
  'requests of claimants come twice, the second time late',
] as const;

export type Fault = (typeof FAULTS)[number] | (typeof CLAIMANT_FAULTS)[number];

/** A fault strikes before this step of the timeline. */
export type CrashPoint = { readonly at: number; readonly fault: Fault };

/** One effect from its order to its end. The same story always takes the same steps up to its first crash point. */
export type Story = {
  readonly carrier: Carrier;
  readonly effectClass: EffectClass;
  readonly behaviour: Behaviour;
  /** Varies how the steps of different processes interleave. */
  readonly seed: number;
  readonly points: readonly CrashPoint[];
};

export const nameOf = ({ carrier, effectClass, behaviour, seed, points }: Story): string =>
  [
    `${effectClass} by ${carrier}, ${behaviour}, seed ${String(seed)}`,
    ...points.map(({ at, fault }) => `${fault} @ ${String(at)}`),
  ].join('; ');
