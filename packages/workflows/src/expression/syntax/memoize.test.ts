import { expect, test } from 'vitest';
import { memoize } from './memoize.ts';

test('the most recent results are cached up to the limit', () => {
  const made: string[] = [];
  const get = memoize(2, (text) => made.push(text));
  for (const text of ['a', 'b', 'a', 'c', 'a', 'b']) get(text);
  expect(made).toEqual(['a', 'b', 'c', 'b']);
});

test('failures are not cached', () => {
  let calls = 0;
  const get = memoize(2, () => {
    calls += 1;
    throw new Error('no');
  });
  expect(() => get('a')).toThrow('no');
  expect(() => get('a')).toThrow('no');
  expect(calls).toBe(2);
});
