import type { Json } from '@holdpoint/contracts/values/json';
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

/** The members from `start` to `stop` (exclusive) in steps. */
const taken = <Member>(
  members: readonly Member[],
  [start, stop, step]: readonly Value[],
): readonly Member[] => {
  const { length } = members;
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
  if (by === 1) return members.slice(first, last);
  const count = Math.max(0, Math.ceil((last - first) / by));
  return Array.from({ length: count }, (_, at) => members[first + at * by] as Member);
};

export const sliceOf = (value: Value, bounds: readonly Value[], meter: Meter): Json => {
  const sliced = <Member>(members: readonly Member[]): readonly Member[] => {
    meter.work(members.length);
    const part = taken(members, bounds);
    meter.size(part.length);
    return part;
  };
  if (typeof value === 'string') return sliced(lettersOf(value, meter)).join('');
  return isList(value) ? sliced(value) : fail(`${kindOf(value)} cannot be sliced`);
};
