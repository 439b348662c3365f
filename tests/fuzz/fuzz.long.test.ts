import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keepsPromises, outcomesOf } from './run.ts';
import { readFuzzSettings } from './settings.ts';
import { targets } from './targets.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

const settings = readFuzzSettings(process.env);
/** A limit for hanging tests; the watchdog names the case before that. */
const TEST_MAX_MS = 60_000 * settings.times;

let watchdog: Watchdog;
beforeAll(() => {
  watchdog = startWatchdog();
});
afterAll(() => watchdog.stop());

describe.each(targets)('$name', (target) => {
  afterAll(() => target.end?.());

  test.each(Object.keys(target.cases))(
    'generated inputs for %s break no promise',
    async (name) => {
      await keepsPromises(target, name, settings, watchdog);
    },
    TEST_MAX_MS,
  );

  test.each(Object.keys(target.cases))(
    'generated inputs for %s reach every outcome',
    async (name) => {
      const outcomes = await outcomesOf(target, name, target.reaches, watchdog);
      expect([...outcomes]).toEqual(expect.arrayContaining([...target.reaches]));
    },
    TEST_MAX_MS,
  );
});
