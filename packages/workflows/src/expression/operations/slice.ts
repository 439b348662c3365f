import type { Json } from '@holdpoint/contracts/values/json';
import { stringOf } from './callable.ts';
import { fail } from './expression-error.ts';
import type { Meter } from './meter.ts';
import { isList, kindOf, lettersOf, type Value } from './values.ts';

const wholeNumber = (bound: Value, otherwise: number): number => {
  if (bound === undefined || bound === null) return otherwise;
  return typeof bound === 'number' && Number.isInteger(bound)
    ? bound
    : fail(`slice bounds are whole numbers, not ${kindOf(bound)}`);
};

/** Resolves a negative index and limits it to the bounds. */
const within = (index: number, length: number, [lowest, highest]: readonly [number, number]): number =>
  Math.min(highest, Math.max(lowest, index < 0 ? index + length : index));

/** The indexes from `start` to `stop` (exclusive) in steps. */
const places = (length: number, [start, stop, step]: readonly Value[]): number[] => {
  const by = wholeNumber(step, 1);
  if (by === 0) return fail('the step of a slice cannot be 0');
  const bounds = by > 0 ? ([0, length] as const) : ([-1, length - 1] as const);
  const first =
    start === undefined || start === null
      ? by > 0
        ? 0
        : length - 1
      : within(wholeNumber(start, 0), length, bounds);
  const last =
    stop === undefined || stop === null
      ? by > 0
        ? length
        : -1
      : within(wholeNumber(stop, 0), length, bounds);
  return Array.from({ length: Math.max(0, Math.ceil((last - first) / by)) }, (_, at) => first + at * by);
};

export const sliceOf = (value: Value, bounds: readonly Value[], meter: Meter): Json => {
  if (typeof value !== 'string' && !isList(value)) return fail(`${kindOf(value)} cannot be sliced`);
  const members: readonly Json[] = typeof value === 'string' ? lettersOf(value, meter) : value;
  meter.work(members.length);
  const taken = places(members.length, bounds).map((at) => members[at] ?? null);
  meter.size(taken.length);
  return typeof value === 'string'
    ? taken.reduce<string>((text, letter) => text + stringOf(letter), '')
    : taken;
};
