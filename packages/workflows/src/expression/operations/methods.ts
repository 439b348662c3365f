import {
  capitalized,
  entriesOf,
  listOf,
  onText,
  recordOf,
  replacing,
  stringOf,
  titled,
  type Callable,
  type Callables,
} from './callable.ts';
import { fail } from './expression-error.ts';
import { isList, keysOf, memberOf, type Value } from './values.ts';

const affix = (has: (text: string, part: string) => boolean): Callable => ({
  params: ['part'],
  run: (value, [part], meter) => {
    const text = stringOf(value);
    const parts = isList(part) ? listOf(part) : [stringOf(part)];
    meter.work(parts.length);
    return parts.some((one) => has(text, stringOf(one)));
  },
});

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

const split: Callable = {
  params: ['sep'],
  run: (value, [separator]: readonly Value[], meter) => {
    const text = stringOf(value);
    // Each part may become a member.
    meter.work(text.length);
    if (separator === '') return fail('a text cannot be split at an empty text');
    const parts =
      separator === undefined || separator === null ? words(text) : text.split(stringOf(separator, 'sep'));
    meter.size(parts.length);
    return parts;
  },
};

/** The methods of values, such as `text.lower()`. */
export const METHODS: Callables = new Map<string, Callable>([
  ['upper', onText((text) => text.toUpperCase())],
  ['lower', onText((text) => text.toLowerCase())],
  ['capitalize', onText(capitalized)],
  ['title', onText(titled)],
  ['strip', onText((text) => text.trim())],
  ['lstrip', onText((text) => text.trimStart())],
  ['rstrip', onText((text) => text.trimEnd())],
  ['startswith', affix((text, part) => text.startsWith(part))],
  ['endswith', affix((text, part) => text.endsWith(part))],
  ['split', split],
  ['replace', replacing],
  [
    'get',
    {
      params: ['key', 'default'],
      run: (value, [key, other]) => memberOf(recordOf(value), stringOf(key)) ?? other,
    },
  ],
  ['keys', { params: [], run: (value, _args, meter) => keysOf(recordOf(value), meter) }],
  [
    'values',
    {
      params: [],
      run: (value, _args, meter) => keysOf(recordOf(value), meter).map((key) => recordOf(value)[key] ?? null),
    },
  ],
  ['items', { params: [], run: (value, _args, meter) => entriesOf(value, meter) }],
]);
