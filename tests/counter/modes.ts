import { z } from 'zod';
import { createRandom, type Random } from '../torture/random.ts';

/** How the counter handles a request. Each of these modes keeps the target's contract. */
const HONEST_MODES = [
  'normal',
  /** Waits, then applies and answers. */
  'slow',
  'apply_then_reset',
  'apply_then_500',
  /** Answers 200 with half a body, then ends the connection. */
  'apply_then_cut',
  'apply_then_hang',
  'reset_before_reading',
  'refuse_503',
  /** Resets the connection and applies later, like a delayed packet. */
  'hold',
] as const;

/** These modes break the contract, so that a checker has something to find. */
const DISHONEST_MODES = ['lie_200', 'lie_404', 'forget'] as const;

export const Mode = z.enum([...HONEST_MODES, ...DISHONEST_MODES]);
export type Mode = z.infer<typeof Mode>;

/** Weights. A mode that is left out has none. */
export const Mix = z
  .partialRecord(Mode, z.number().min(0).max(1_000_000))
  .refine((mix) => Object.values(mix).some((weight) => weight > 0), 'at least one mode has to have a weight');
export type Mix = z.infer<typeof Mix>;

/** `mix`: each request draws its mode. Any other mode is for all requests. */
export const ModeSetting = z.union([z.literal('mix'), Mode]);
export type ModeSetting = z.infer<typeof ModeSetting>;

export const DEFAULT_MIX: Mix = {
  normal: 70,
  slow: 8,
  apply_then_reset: 5,
  apply_then_500: 4,
  apply_then_cut: 2,
  apply_then_hang: 1,
  reset_before_reading: 4,
  refuse_503: 3,
  hold: 3,
};

/** The random numbers of one request: the same for the same seed, key (or path) and arrival. */
export const chancesOf = (seed: string, identity: string, arrival: number): Random =>
  createRandom(`counter ${seed} ${String(arrival)} ${identity}`);

/** The mode of a request: the same for the same numbers, in any order of weights. */
export const drawMode = (mix: Mix, random: Random): Mode =>
  random.weighted(Mode.options, (mode) => mix[mode] ?? 0);
