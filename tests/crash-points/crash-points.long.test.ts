import { expect, test } from 'vitest';
import { countsOf, emptySum, enumerate, partsOf, spread } from './enumerate.ts';

/** `3` strikes at three times as many points. */
const TIMES = Number(process.env['HOLDPOINT_CRASH_TIMES'] ?? 1);

test.each([
  ['an executor', 'executor', 8, 20],
  ['claimants', 'claimant', 21, 57],
  ['claimants of the SDK', 'claimant of the SDK', 30, 51],
] as const)(
  'no effect of %s is doubled or ungated in 3,340 crash points',
  async (_, carrier, every, everyTwice) => {
    const sum = emptySum();
    const parts = [
      ...partsOf(carrier, Math.round(every / TIMES), false),
      ...partsOf(carrier, Math.round(everyTwice / TIMES), true, 2),
    ];
    for (const part of spread(parts)) await enumerate(sum, part);
    console.log(countsOf(carrier, sum));
    expect(sum.violations).toEqual([]);
    expect({ doubled: sum.doubled, ungated: sum.ungated }).toEqual({ doubled: 0, ungated: 0 });
    // An unknown outcome leads to a question.
    expect(sum.asked).toBeGreaterThan(170 * TIMES);
    expect(sum.crashPoints).toBeGreaterThanOrEqual(3_340 * TIMES);
  },
);
