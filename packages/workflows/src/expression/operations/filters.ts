import { canonicalJson } from '@holdpoint/contracts/values/json';
import {
  capitalized,
  entriesOf,
  membersOf,
  onText,
  replacing,
  stringOf,
  titled,
  type Callable,
  type Callables,
} from './callable.ts';
import { fail } from './expression-error.ts';
import { LIST_FILTERS } from './list-filters.ts';
import { finite } from './operators.ts';
import { isList, isRecord, isTrue, kindOf, lettersOf, sizeOf, textOf, type Value } from './values.ts';

const numberOf = (value: Value): number =>
  typeof value === 'number' ? value : fail(`expected a number, not ${kindOf(value)}`);

const onNumber = (change: (number: number) => number): Callable => ({
  params: [],
  run: (value) => finite(change(numberOf(value))),
});

/** Converts a number or the start of a text; anything else becomes the default. */
const toNumber = (read: (text: string) => number, change: (number: number) => number): Callable => ({
  params: ['default'],
  run: (value, [other = 0]) => {
    if (typeof value === 'boolean') return Number(value);
    if (typeof value === 'number') return change(value);
    const number = typeof value === 'string' ? read(value.slice(0, 400)) : Number.NaN;
    return Number.isFinite(number) ? change(number) : other;
  },
});

const round: Callable = {
  params: ['precision'],
  run: (value, [places = 0]) => {
    const precision = numberOf(places);
    if (!Number.isInteger(precision) || precision < 0 || precision > 15) {
      return fail('round takes 0 to 15 places');
    }
    return finite(Math.round(numberOf(value) * 10 ** precision) / 10 ** precision);
  },
};

const length: Callable = {
  params: [],
  run: (value, _args, meter) => {
    if (typeof value === 'string') return lettersOf(value, meter).length;
    if (isList(value)) return value.length;
    if (!isRecord(value)) return fail(`${kindOf(value)} has no length`);
    const { length: count } = Object.keys(value);
    meter.work(count);
    return count;
  },
};

const byDefault: Callable = {
  params: ['value', 'boolean'],
  run: (value, [other = '', whenFalse = false], meter) =>
    value === undefined || (isTrue(whenFalse, meter) && !isTrue(value, meter)) ? other : value,
};

const tojson: Callable = {
  params: [],
  run: (value, _args, meter) => {
    meter.size(sizeOf(value, meter));
    const text = canonicalJson(value ?? null);
    meter.size(text.length);
    return text;
  },
};

const join: Callable = {
  params: ['d'],
  run: (value, [separator = ''], meter) => {
    const between = stringOf(separator);
    const parts = membersOf(value, meter).map((member) => textOf(member, meter));
    meter.size(parts.reduce((sum, part) => sum + part.length + between.length, 0));
    return parts.join(between);
  },
};

/** Cuts to a length that includes the end mark, at a word boundary unless `killwords` is set. */
const truncate: Callable = {
  params: ['length', 'killwords', 'end'],
  run: (value, [length = 255, cutsWords = false, end = '…'], meter) => {
    const mark = lettersOf(stringOf(end, 'end'), meter);
    const most = numberOf(length);
    if (!Number.isInteger(most) || most < mark.length)
      return fail('truncate needs a whole number of letters, at least as many as its end mark');
    const whole = stringOf(value);
    if (whole.length <= most) {
      meter.work(whole.length);
      return whole;
    }
    // A letter has at most two code units, so the rest of the text is irrelevant.
    const letters = lettersOf(whole.slice(0, 2 * (most + 1)), meter);
    if (letters.length <= most) return letters.join('');
    const cut = letters.slice(0, most - mark.length).join('');
    const words = cut.lastIndexOf(' ');
    return (isTrue(cutsWords, meter) || words < 0 ? cut : cut.slice(0, words)) + mark.join('');
  },
};

/** The filters after `|`. None repeats a text, and all growth is charged in advance. */
export const FILTERS: Callables = new Map<string, Callable>([
  ['upper', onText((text) => text.toUpperCase())],
  ['lower', onText((text) => text.toLowerCase())],
  ['capitalize', onText(capitalized)],
  ['title', onText(titled)],
  ['trim', onText((text) => text.trim())],
  ['truncate', truncate],
  ['replace', replacing],
  ['abs', onNumber(Math.abs)],
  ['round', round],
  ['int', toNumber((text) => Number.parseInt(text, 10), Math.trunc)],
  ['float', toNumber(Number.parseFloat, (number) => number)],
  ['string', { params: [], run: (value, _args, meter) => textOf(value, meter) }],
  ['length', length],
  ['count', length],
  ['default', byDefault],
  ['d', byDefault],
  ['tojson', tojson],
  ['join', join],
  ['items', { params: [], run: (value, _args, meter) => entriesOf(value, meter) }],
  ...LIST_FILTERS,
]);
