import { expect, test } from 'vitest';
import { countsOf, emptySum, enumerate, partsOf } from './enumerate.ts';

test('no effect of an executor is doubled or ungated in nine hundred crash points', async () => {
  const sum = emptySum();
  for (const part of partsOf('executor', 23, false)) await enumerate(sum, part);
  console.log(countsOf('executor', sum));
  expect(sum.violations).toEqual([]);
  expect({ doubled: sum.doubled, ungated: sum.ungated }).toEqual({ doubled: 0, ungated: 0 });
  expect(sum.crashPoints).toBeGreaterThanOrEqual(900);
});

test('no effect of claimants is doubled or ungated in nine hundred crash points', async () => {
  const sum = emptySum();
  for (const part of partsOf('claimant', 67, false)) await enumerate(sum, part);
  console.log(countsOf('claimant', sum));
  expect(sum.violations).toEqual([]);
  expect({ doubled: sum.doubled, ungated: sum.ungated }).toEqual({ doubled: 0, ungated: 0 });
  expect(sum.crashPoints).toBeGreaterThanOrEqual(900);
});
