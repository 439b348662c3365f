import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { corpusOf } from './corpus.ts';
import { runCase } from './run.ts';
import { targets } from './targets.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

/** A limit for hanging tests; the watchdog names the case before that. */
const TEST_MAX_MS = 60_000;

let watchdog: Watchdog;
beforeAll(() => {
  watchdog = startWatchdog();
});
afterAll(() => watchdog.stop());

describe.each(targets)('$name', (target) => {
  afterAll(() => target.end?.());

  test.each(corpusOf(target.name))(
    'the corpus input $file breaks no promise: $why',
    async ({ input }) => {
      expect(await runCase(target, input, watchdog)).toMatch(/\S/);
    },
    TEST_MAX_MS,
  );
});
