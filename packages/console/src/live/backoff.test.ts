import { expect, test } from 'vitest';
import { delayOf } from './backoff.ts';

test('the delay grows up to a limit, with jitter', () => {
  expect([0, 1, 2, 50].map((tries) => delayOf(tries, 1))).toEqual([300, 600, 1_200, 15_000]);
  expect(delayOf(50, 0)).toBe(7_500);
});
