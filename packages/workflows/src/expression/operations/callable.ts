import type { Json } from '@holdpoint/contracts/values/json';
import { fail } from './expression-error.ts';
import type { Meter } from './meter.ts';
import {
  isList,
  isRecord,
  keysOf,
  kindOf,
  lettersOf,
  type JsonRecord,
  type List,
  type Value,
} from './values.ts';

/** A filter or method. It can reach nothing except its arguments. */
export type Callable = {
  readonly params: readonly string[];
  readonly run: (value: Value, args: readonly Value[], meter: Meter) => Value;
};

export type Callables = ReadonlyMap<string, Callable>;

export const stringOf = (value: Value, what = 'this'): string =>
  typeof value === 'string' ? value : fail(`${what} must be a text, not ${kindOf(value)}`);

export const listOf = (value: Value): List =>
  isList(value) ? value : fail(`expected a list, not ${kindOf(value)}`);

export const recordOf = (value: Value): JsonRecord =>
  isRecord(value) ? value : fail(`expected an object, not ${kindOf(value)}`);

/** The members of a list or text; of an object, its keys. */
export const membersOf = (value: Value, meter: Meter): List => {
  if (isList(value)) return value;
  if (isRecord(value)) return keysOf(value, meter);
  if (typeof value !== 'string') return fail(`${kindOf(value)} has no members`);
  meter.size(value.length);
  return lettersOf(value, meter);
};

/** A text function whose result is charged to the meter. */
export const onText = (change: (text: string) => string): Callable => ({
  params: [],
  run: (value, _args, meter) => {
    const text = stringOf(value);
    meter.work(text.length);
    const changed = change(text);
    meter.size(changed.length);
    return changed;
  },
});

export const capitalized = (text: string): string =>
  text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase();
export const titled = (text: string): string =>
  text.replaceAll(/[\p{L}\p{N}]+/gu, (word) => capitalized(word));

/** The size of the result is charged before it is built. */
const replace = (text: string, from: string, to: string, meter: Meter): string => {
  if (from === '') return fail('an empty text cannot be replaced');
  meter.work(text.length + Math.ceil((text.length * from.length) / 64));
  const parts = text.split(from);
  meter.size(text.length + (parts.length - 1) * (to.length - from.length));
  return parts.join(to);
};

export const replacing: Callable = {
  params: ['old', 'new'],
  run: (value, [from, to], meter) =>
    replace(stringOf(value), stringOf(from, 'old'), stringOf(to, 'new'), meter),
};

export const entriesOf = (value: Value, meter: Meter): Json =>
  keysOf(recordOf(value), meter).map((key) => [key, recordOf(value)[key] ?? null]);
