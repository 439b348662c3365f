import fc from 'fast-check';
import { expect, test } from 'vitest';
import { barsOf, rangeOf, type SpanName, SPANS, sumOf } from './class-counts.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MIDNIGHT = Date.UTC(2026, 0, 15);
const names = Object.keys(SPANS) as readonly SpanName[];

test('a day has the current hour and the 23 before; a week and a month have UTC days', () => {
  expect(rangeOf('day', MIDNIGHT + 1)).toEqual({
    from: MIDNIGHT - 23 * HOUR,
    to: MIDNIGHT + HOUR,
    bucket: 'hour',
  });
  expect(rangeOf('week', MIDNIGHT)).toEqual({ from: MIDNIGHT - 6 * DAY, to: MIDNIGHT + DAY, bucket: 'day' });
  expect(rangeOf('month', MIDNIGHT - 1)).toEqual({
    from: MIDNIGHT - 31 * DAY,
    to: MIDNIGHT,
    bucket: 'day',
  });
});

test('every hour or day has a bar, even without failures', () => {
  const range = { from: MIDNIGHT, to: MIDNIGHT + 3 * DAY, bucket: 'day' as const };
  expect(
    barsOf(range, [
      { at: MIDNIGHT, class: 'TRANSIENT', count: 2 },
      { at: MIDNIGHT, class: 'UNKNOWN', count: 1 },
      { at: MIDNIGHT + 2 * DAY, class: 'TRANSIENT', count: 5 },
    ]),
  ).toEqual([
    { from: MIDNIGHT, counts: { TRANSIENT: 2, UNKNOWN: 1 }, all: 3 },
    { from: MIDNIGHT + DAY, counts: {}, all: 0 },
    { from: MIDNIGHT + 2 * DAY, counts: { TRANSIENT: 5 }, all: 5 },
  ]);
});

test('the current time is in the last bar, and every failure is counted', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...names),
      fc.integer({ min: 1_600_000_000_000, max: 2_000_000_000_000 }),
      fc.array(fc.nat(30)),
      (name, now, places) => {
        const range = rangeOf(name, now);
        const last = barsOf(range, []).at(-1)?.from ?? 0;
        expect(last <= now && now < range.to).toBe(true);
        const { buckets } = SPANS[name];
        const size = (range.to - range.from) / buckets;
        const items = [...new Set(places.map((place) => place % buckets))].map((place) => ({
          at: range.from + place * size,
          class: 'UNKNOWN' as const,
          count: place + 1,
        }));
        expect(sumOf(barsOf(range, items), 'UNKNOWN')).toBe(items.reduce((sum, { count }) => sum + count, 0));
      },
    ),
  );
});
