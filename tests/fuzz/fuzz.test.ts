import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { corpusOf } from './corpus.ts';
import { keepsPromises, outcomesOf, runCase } from './run.ts';
import { readFuzzSettings } from './settings.ts';
import { targets } from './targets.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

const settings = readFuzzSettings(process.env);
/** A bound for what hangs; the watchdog names the case before that. */
const TEST_MAX_MS = 60_000 * settings.times;

let watchdog: Watchdog;
beforeAll(() => {
  watchdog = startWatchdog();
});
afterAll(() => watchdog.stop());

describe.each(targets)('$name', (target) => {
  afterAll(() => target.end?.());

  test.each(corpusOf(target.name))(
    'keeps its promises on $file: $why',
    async ({ input }) => {
      expect(await runCase(target, input, watchdog)).toMatch(/\S/);
    },
    TEST_MAX_MS,
  );

  test.each(Object.keys(target.cases))(
    'keeps its promises on what is made up for %s',
    async (name) => {
      await keepsPromises(target, name, settings, watchdog);
    },
    TEST_MAX_MS,
  );

  test.each(Object.keys(target.cases))(
    'is led everywhere by what is made up for %s',
    async (name) => {
      const outcomes = await outcomesOf(target, name, target.reaches, watchdog);
      expect([...outcomes]).toEqual(expect.arrayContaining([...target.reaches]));
    },
    TEST_MAX_MS,
  );
});
