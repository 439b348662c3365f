import { expect, test } from 'vitest';
import { createCache } from './cache.ts';

const at = (version: number) => ({ kind: 'tally', version, state: `state ${String(version)}` });

test('a state is found under its version only', () => {
  const cache = createCache(10);
  cache.put('a', at(3));
  expect(cache.get('a', 3)).toEqual(at(3));
  expect(cache.get('a', 2)).toBeUndefined();
  expect(cache.get('a', 4)).toBeUndefined();
  expect(cache.get('b', 3)).toBeUndefined();
});

test('a newer state replaces an older one', () => {
  const cache = createCache(10);
  cache.put('a', at(1));
  cache.put('a', at(2));
  expect(cache.get('a', 1)).toBeUndefined();
  expect(cache.get('a', 2)).toEqual(at(2));
});

test('a full cache drops the state that was stored first', () => {
  const cache = createCache(2);
  cache.put('a', at(1));
  cache.put('b', at(1));
  cache.put('a', at(2));
  cache.put('c', at(1));
  expect(cache.get('b', 1)).toBeUndefined();
  expect(cache.get('a', 2)).toEqual(at(2));
  expect(cache.get('c', 1)).toEqual(at(1));
});

test('a forgotten state is gone', () => {
  const cache = createCache(2);
  cache.put('a', at(1));
  cache.put('b', at(1));
  cache.forget(['a', 'nowhere']);
  expect(cache.get('a', 1)).toBeUndefined();
  expect(cache.get('b', 1)).toEqual(at(1));
});
