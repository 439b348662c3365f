import { expect, test } from 'vitest';
import { countsOf, emptySum, enumerate, partsOf, spread } from './enumerate.ts';

/** `10` strikes at ten times as many points: more than ten thousand. */
const TIMES = Number(process.env['HOLDPOINT_CRASH_TIMES'] ?? 1);
const WITHIN_MS = TIMES * 600_000;

const CARRIERS = [
  ['an executor', 'executor', 27, 60],
  ['claimants', 'claimant', 70, 190],
  ['claimants of the SDK', 'claimant of the SDK', 92, 160],
] as const;

// At one time, `crash-points.test.ts` strikes at as many points of the others.
test.each(TIMES > 1 ? CARRIERS : CARRIERS.slice(-1))(
  'no effect of %s is doubled or ungated in a thousand crash points',
  { timeout: WITHIN_MS },
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
    expect(sum.asked).toBeGreaterThan(50 * TIMES);
    expect(sum.crashPoints).toBeGreaterThanOrEqual(1_000 * TIMES);
  },
);
