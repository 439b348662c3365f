import { z } from 'zod';
import { createRandom, type Random } from '../torture/random.ts';

/** What the counter server does with one request. Each of these keeps to the contract of its target. */
const HONEST_MODES = [
  'normal',
  /** Waits, then applies and answers. */
  'slow',
  'apply_then_reset',
  'apply_then_500',
  /** Answers 200 and half a body, then ends the connection. */
  'apply_then_cut',
  'apply_then_hang',
  'reset_before_reading',
  'refuse_503',
  /** Resets the connection, and applies later: the packet that was delayed on its way. */
  'hold',
] as const;

/** These break the contract, so that no client can be right about them: to see that a checker notices. */
const DISHONEST_MODES = ['lie_200', 'lie_404', 'forget'] as const;

export const Mode = z.enum([...HONEST_MODES, ...DISHONEST_MODES]);
export type Mode = z.infer<typeof Mode>;

/** Weights; what is not named has none. */
export const Mix = z
  .partialRecord(Mode, z.number().min(0).max(1_000_000))
  .refine((mix) => Object.values(mix).some((weight) => weight > 0), 'at least one mode has to have a weight');
export type Mix = z.infer<typeof Mix>;

/** `mix`: each request draws its own mode; anything else is for all of them. */
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

/** The chances of one request: the same for the same seed, key (or path) and count of arrivals. */
export const chancesOf = (seed: string, identity: string, arrival: number): Random =>
  createRandom(`counter ${seed} ${String(arrival)} ${identity}`);

/** The mode that falls to a request: the same for the same chances, in whatever order the weights were written. */
export const drawMode = (mix: Mix, random: Random): Mode =>
  random.weighted(Mode.options, (mode) => mix[mode] ?? 0);
