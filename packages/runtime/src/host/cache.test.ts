import { expect, test } from 'vitest';
import { createCache } from './cache.ts';

const at = (version: number) => ({ kind: 'tally', version, state: `state ${String(version)}` });

test('a state is found under its version only', () => {
  const cache = createCache(10);
  cache.put('a', at(3), false);
  expect(cache.get('a', 3)).toEqual(at(3));
  expect(cache.get('a', 2)).toBeUndefined();
  expect(cache.get('a', 4)).toBeUndefined();
  expect(cache.get('b', 3)).toBeUndefined();
});

test('a newer state replaces an older one', () => {
  const cache = createCache(10);
  cache.put('a', at(1), false);
  cache.put('a', at(2), false);
  expect(cache.get('a', 1)).toBeUndefined();
  expect(cache.get('a', 2)).toEqual(at(2));
});

test('a full cache drops the state that was stored first', () => {
  const cache = createCache(2);
  cache.put('a', at(1), false);
  cache.put('b', at(1), false);
  cache.put('a', at(2), false);
  cache.put('c', at(1), false);
  expect(cache.get('b', 1)).toBeUndefined();
  expect(cache.get('a', 2)).toEqual(at(2));
  expect(cache.get('c', 1)).toEqual(at(1));
});

test('a forgotten state is gone', () => {
  const cache = createCache(2);
  cache.put('a', at(1), false);
  cache.put('b', at(1), false);
  cache.forget(['a', 'nowhere']);
  expect(cache.get('a', 1)).toBeUndefined();
  expect(cache.get('b', 1)).toEqual(at(1));
});

test('states of aggregates that are over take a tenth of the places, and open ones the others', () => {
  const cache = createCache(20);
  const known = (letter: string, count: number) =>
    Array.from({ length: count }, (_, i) => `${letter}${String(i)}`).filter(
      (id) => cache.latest(id) !== undefined,
    );
  for (let i = 0; i < 10; i += 1) cache.put(`open${String(i)}`, at(1), false);
  for (let i = 0; i < 100; i += 1) cache.put(`over${String(i)}`, at(1), true);
  expect(known('open', 10)).toHaveLength(10);
  expect(known('over', 100)).toEqual(['over98', 'over99']);
  for (let i = 10; i < 100; i += 1) cache.put(`open${String(i)}`, at(1), false);
  expect(known('open', 100)).toHaveLength(18);
  expect(known('over', 100)).toEqual(['over98', 'over99']);
});

test('the latest state of an aggregate replaces the earlier one, open or over', () => {
  const cache = createCache(20);
  cache.put('a', at(1), false);
  cache.put('a', at(2), true);
  expect(cache.latest('a')).toEqual(at(2));
  cache.put('a', at(3), false);
  expect(cache.latest('a')).toEqual(at(3));
  cache.forget(['a']);
  expect(cache.latest('a')).toBeUndefined();
});
