import { describe, expect, test } from 'vitest';
import { CLOCK_LAG_MAX_MS } from '../../engine/ports.ts';
import { createServerClock } from './server-clock.ts';

describe('the clock of the server', () => {
  const clockWith = () => {
    let local = 0;
    const clock = createServerClock(() => local);
    const pass = (ms: number): void => void (local += ms);
    const ask = (answer: object, tookMs: number) =>
      clock.timed(() => {
        pass(tookMs);
        return Promise.resolve({ rows: [answer] });
      });
    return { clock, pass, ask };
  };

  test('it is the latest reading plus the time since then', async () => {
    const { clock, pass, ask } = clockWith();
    expect(clock.now()).toBeUndefined();
    await ask({ now: '5000' }, 2);
    pass(7.9);
    expect(clock.now()).toBe(5_007);
    await ask({ now: '6000' }, 1);
    expect(clock.now()).toBe(6_000);
  });

  test('of several readings the one that lags least counts', async () => {
    const { clock, pass, ask } = clockWith();
    await ask({ now: '5000' }, 1);
    pass(10);
    await ask({ now: '5015' }, 20);
    expect(clock.now()).toBe(5_030);
    await ask({ now: '5040' }, 1);
    expect(clock.now()).toBe(5_040);
  });

  test('a clock that was set back counts at once', async () => {
    const { clock, ask } = clockWith();
    await ask({ now: '5000' }, 1);
    await ask({ now: '4000' }, 1);
    expect(clock.now()).toBe(4_000);
  });

  test('a slow answer is no reading', async () => {
    const { clock, ask } = clockWith();
    await ask({ now: '5000' }, CLOCK_LAG_MAX_MS + 1);
    expect(clock.now()).toBeUndefined();
    await ask({ now: '5000' }, CLOCK_LAG_MAX_MS);
    expect(clock.now()).toBe(5_000);
  });

  test('an answer without a clock is no reading', async () => {
    const { clock, ask } = clockWith();
    await ask({ id: '7' }, 1);
    expect(clock.now()).toBeUndefined();
  });

  test('an old reading does not count', async () => {
    const { clock, pass, ask } = clockWith();
    await ask({ now: '5000' }, 1);
    pass(10_001);
    expect(clock.now()).toBeUndefined();
  });
});
