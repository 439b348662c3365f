import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '@holdpoint/infra/local/folders';
import { describe, expect, onTestFinished, test } from 'vitest';
import { environment, findPython } from '../kit/python.ts';
import { countsOf, emptySum, enumerate, partsOf, spread } from './enumerate.ts';
import { startPython } from './python-claimants.ts';

const found = await findPython();
if (found.python === undefined) console.warn(`the claimant in Python has no crash points: ${found.reason}`);

/** Each request is a round trip to another process. `10` strikes at more than ten thousand points. */
const TIMES = Number(process.env['HOLDPOINT_CRASH_TIMES'] ?? 0.25);
const WITHIN_MS = Math.max(1, TIMES) * 600_000;

describe.skipIf(found.python === undefined)('crash points in Python', () => {
  test(
    'no effect of the claimant in Python is doubled or ungated in hundreds of crash points',
    { timeout: WITHIN_MS },
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'holdpoint-crash-points-'));
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      const packages = [join(root, 'packages', 'python')];
      const python = startPython(await environment(found.python ?? '', join(folder, 'python'), packages));
      onTestFinished(() => python.stop());
      const sum = emptySum();
      const parts = [
        ...partsOf('claimant in Python', Math.ceil(90 / TIMES), false),
        ...partsOf('claimant in Python', Math.ceil(180 / TIMES), true, 2),
      ];
      for (const part of spread(parts)) await enumerate(sum, part, python);
      console.log(countsOf('claimant in Python', sum));
      expect(sum.violations).toEqual([]);
      expect({ doubled: sum.doubled, ungated: sum.ungated }).toEqual({ doubled: 0, ungated: 0 });
      // An unknown outcome leads to a question.
      expect(sum.asked).toBeGreaterThan(50 * TIMES);
      expect(sum.crashPoints).toBeGreaterThanOrEqual(1_000 * TIMES);
    },
  );
});
