import { expect, test } from 'vitest';
import { forkWithin } from '../../../testing/fork-bomb.ts';

const PROCESSES = 60;
/** What the test itself and the start of the command may need beside them. */
const OTHERS = 30;
const PATIENCE_MS = 60_000;

test(
  'a fork bomb gets no more processes than its limit, and all of them end with it',
  async () => {
    const bomb = 'bomb() { bomb | bomb & }; trap "" TERM; bomb; exec sleep 300';
    const { timedOut, stderr, most, left } = await forkWithin(bomb, PROCESSES);
    expect(timedOut).toBe(true);
    expect(stderr).toMatch(/fork/i);
    expect(most).toBeLessThanOrEqual(PROCESSES + OTHERS);
    expect(left).toBe(0);
  },
  PATIENCE_MS,
);
