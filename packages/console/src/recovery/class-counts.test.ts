import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bucketsOf } from './class-counts.ts';

test('failures are counted by class in spans of one length', () => {
  const hour = 3_600_000;
  const { spanMs, buckets } = bucketsOf([
    { at: 10 * hour, class: 'TRANSIENT' },
    { at: 10 * hour + 1, class: 'TRANSIENT' },
    { at: 30 * hour, class: 'UNKNOWN' },
  ]);
  expect(spanMs).toBe(hour);
  expect(buckets).toHaveLength(21);
  expect(buckets[0]).toEqual({ from: 10 * hour, counts: { TRANSIENT: 2 } });
  expect(buckets.at(-1)).toEqual({ from: 30 * hour, counts: { UNKNOWN: 1 } });
});

test('no failures are no chart, and however far apart they are, each is counted', () => {
  expect(bucketsOf([]).buckets).toEqual([]);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 4e12 }), { minLength: 1 }), (times) => {
      const { buckets } = bucketsOf(times.map((at) => ({ at, class: 'UNKNOWN' })));
      expect(buckets.length).toBeLessThanOrEqual(24);
      expect(buckets.reduce((sum, { counts }) => sum + (counts.UNKNOWN ?? 0), 0)).toBe(times.length);
    }),
  );
});
