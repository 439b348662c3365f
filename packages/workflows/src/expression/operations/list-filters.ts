import type { Json } from '@holdpoint/contracts/values/json';
import { listOf, membersOf, recordOf, stringOf, type Callable } from './callable.ts';
import type { Meter } from './meter.ts';
import { finite } from './operators.ts';
import { holds } from './tests.ts';
import { compare, isRecord, isTrue, memberOf, type List, type Value } from './values.ts';
import { fail } from './expression-error.ts';

/** Follows a path such as `build.digest` into a value. */
const attributeOf = (value: Value, path: string): Value =>
  path.split('.').reduce<Value>((at, key) => (isRecord(at) ? memberOf(at, key) : undefined), value);

/** The sort key: the item or an attribute; texts ignore case unless `case_sensitive` is set. */
const sortKey = (item: Json, attribute: Value, caseSensitive: Value, meter: Meter): Value => {
  const value = attribute === undefined || attribute === null ? item : attributeOf(item, stringOf(attribute));
  return typeof value === 'string' && !isTrue(caseSensitive, meter) ? value.toLowerCase() : value;
};

const sort: Callable = {
  params: ['reverse', 'case_sensitive', 'attribute'],
  run: (value, [reverse, caseSensitive, attribute], meter) => {
    const list = membersOf(value, meter);
    meter.size(list.length);
    const keyed = list.map((item) => {
      const key = sortKey(item, attribute, caseSensitive, meter);
      if (typeof key === 'string') meter.work(key.length);
      return { item, key };
    });
    const sign = isTrue(reverse, meter) ? -1 : 1;
    return keyed
      .sort((one, other) => {
        meter.work(1);
        return sign * compare(one.key, other.key, meter);
      })
      .map(({ item }) => item);
  },
};

const extreme = (sign: 1 | -1): Callable => ({
  params: [],
  run: (value, _args, meter) =>
    membersOf(value, meter).reduce<Value>((best, item) => {
      meter.work(1);
      return best === undefined || sign * compare(item, best, meter) > 0 ? item : best;
    }, undefined),
});

const filtered = (keep: boolean): Callable => ({
  params: ['attribute', 'test', 'value'],
  run: (value, [attribute, test, other], meter) =>
    listOf(value).filter((item) => {
      meter.work(1);
      const found = attributeOf(recordOf(item), stringOf(attribute));
      const held = test === undefined ? isTrue(found, meter) : holds(stringOf(test), found, other, meter);
      return held === keep;
    }),
});

const map: Callable = {
  params: ['attribute', 'default'],
  run: (value, [attribute, other], meter) => {
    const list = listOf(value);
    meter.size(list.length);
    return list.map((item) => attributeOf(item, stringOf(attribute)) ?? other ?? null);
  },
};

/** Only for scalar values, which are compared by value. */
const unique = (list: List, meter: Meter): Json => {
  meter.size(list.length);
  const seen = new Set<Json>();
  for (const item of list) {
    if (typeof item === 'object' && item !== null)
      return fail('only texts, numbers and truth values can be "unique"');
    seen.add(item);
  }
  return [...seen];
};

const sum: Callable = {
  params: [],
  run: (value, _args, meter) =>
    listOf(value).reduce<number>((total, item) => {
      meter.work(1);
      return typeof item === 'number' ? finite(total + item) : fail('only numbers have a sum');
    }, 0),
};

const reversed = (value: Value, meter: Meter): Json => {
  const members = membersOf(value, meter);
  meter.size(members.length);
  if (typeof value !== 'string') return members.toReversed();
  return members.reduceRight<string>((text, letter) => text + stringOf(letter), '');
};

const onMembers = (make: (members: List, meter: Meter) => Value): Callable => ({
  params: [],
  run: (value, _args, meter) => make(membersOf(value, meter), meter),
});

export const LIST_FILTERS: readonly (readonly [string, Callable])[] = [
  ['first', onMembers((members) => members[0])],
  ['last', onMembers((members) => members.at(-1))],
  ['list', onMembers((members) => members)],
  ['unique', onMembers(unique)],
  ['reverse', { params: [], run: (value, _args, meter) => reversed(value, meter) }],
  ['sort', sort],
  ['sum', sum],
  ['min', extreme(-1)],
  ['max', extreme(1)],
  ['map', map],
  ['selectattr', filtered(true)],
  ['rejectattr', filtered(false)],
];
