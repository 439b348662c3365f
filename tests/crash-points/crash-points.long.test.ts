import { expect, test } from 'vitest';
import { countsOf, emptySum, enumerate, partsOf, type Sum } from './enumerate.ts';
import type { Carrier } from './story.ts';

const expectNone = (carrier: Carrier, sum: Sum): void => {
  console.log(countsOf(carrier, sum));
  expect(sum.violations).toEqual([]);
  expect({ doubled: sum.doubled, ungated: sum.ungated }).toEqual({ doubled: 0, ungated: 0 });
};

test('no effect of an executor is doubled or ungated in ten thousand crash points', async () => {
  const sum = emptySum();
  for (const part of [...partsOf('executor', 3, false), ...partsOf('executor', 7, true, 2)])
    await enumerate(sum, part);
  expectNone('executor', sum);
  // An unknown outcome leads to a question.
  expect(sum.asked).toBeGreaterThan(500);
  expect(sum.crashPoints).toBeGreaterThanOrEqual(10_000);
});

test.each([
  ['claimants', 'claimant', 7, 19],
  ['claimants of the SDK', 'claimant of the SDK', 10, 17],
] as const)(
  'no effect of %s is doubled or ungated in ten thousand crash points',
  async (_, carrier, every, everyTwice) => {
    const sum = emptySum();
    for (const part of [...partsOf(carrier, every, false), ...partsOf(carrier, everyTwice, true, 2)])
      await enumerate(sum, part);
    expectNone(carrier, sum);
    expect(sum.asked).toBeGreaterThan(500);
    expect(sum.crashPoints).toBeGreaterThanOrEqual(10_000);
  },
);
