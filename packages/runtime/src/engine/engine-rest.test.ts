import { describe, expect, test } from 'vitest';
import { add, engineOver, stillClock } from '../../testing/engine-run.ts';
import { createLooks } from '../host/looks.ts';
import { createMemoryStore } from '../memory/store.ts';
import { CommitUnknown, type Publisher } from './ports.ts';

const STALE_MS = 5_000;

/** An engine with a clock, and the questions that it asks its store. */
const setup = (publisher?: Publisher, isOwner?: () => boolean) => {
  const clock = stillClock();
  const memory = createMemoryStore(clock.now);
  const asked = { nextDue: 0, claimOutbox: 0 };
  let isAway = false;
  const count = (name: keyof typeof asked): void => {
    asked[name] += 1;
    if (isAway) throw new Error('away');
  };
  const store = {
    ...memory,
    nextDue: async () => (count('nextDue'), memory.nextDue()),
    claimOutbox: async (...how: Parameters<typeof memory.claimOutbox>) => (
      count('claimOutbox'),
      memory.claimOutbox(...how)
    ),
  };
  const options = {
    clock: { now: clock.now, after: () => () => undefined },
    ...(publisher && { publisher }),
    ...(isOwner && { isOwner }),
  };
  const run = engineOver(store, options);
  const tick = async (): Promise<void> => {
    run.engine.tick();
    await run.engine.idle();
  };
  return {
    ...run,
    memory,
    store,
    options,
    clock,
    asked,
    tick,
    away: (is: boolean) => (isAway = is),
    fired: () => memory.tables.timers.size === 0,
    set: (dueIn: number) => run.send('e-1', { kind: 'set', name: 'wake', dueAt: clock.now() + dueIn }),
  };
};

describe('the timers of a process at rest', () => {
  test('a process without timers asks its store once in five seconds', async () => {
    const { tick, clock, asked } = setup();
    for (let at = 0; at < 50; at += 1, clock.advance(200)) await tick();
    expect(asked.nextDue).toBe(2);
  });

  test('a process that alone owns its service asks its store once in fifteen seconds', async () => {
    const { tick, clock, asked } = setup(undefined, () => true);
    for (let at = 0; at < 150; at += 1, clock.advance(200)) await tick();
    expect(asked.nextDue).toBe(2);
  });

  test('a timer fires at the first tick after its time', async () => {
    const { tick, clock, set, fired } = setup();
    await tick();
    await set(1_000);
    clock.advance(999);
    await tick();
    expect(fired()).toBe(false);
    clock.advance(1);
    await tick();
    expect(fired()).toBe(true);
  });

  test('a timer that the latest look has found fires at the first tick after its time', async () => {
    const { tick, clock, set, fired, engine } = setup();
    await set(700);
    engine.lookAnew();
    await tick();
    clock.advance(700);
    await tick();
    expect(fired()).toBe(true);
  });

  test('a timer that another process has set is found within five seconds', async () => {
    const { tick, clock, store, options, fired } = setup();
    await tick();
    const other = engineOver(store, options);
    await other.send('e-2', { kind: 'set', name: 'wake', dueAt: clock.now() + 1 });
    clock.advance(5_000);
    await tick();
    expect(fired()).toBe(true);
  });

  test('a look that fails is repeated at the next tick', async () => {
    const { tick, clock, set, fired, away } = setup();
    await set(1_000);
    clock.advance(1_000);
    away(true);
    await tick();
    away(false);
    await tick();
    expect(fired()).toBe(true);
  });

  test('a timer that is set during a look counts, though the answer lacks it', async () => {
    const clock = stillClock();
    const looks = createLooks(clock);
    const { promise, resolve } = Promise.withResolvers<number>();
    const looking = looks.look(() => promise);
    looks.expect(300);
    resolve(Infinity);
    await looking;
    clock.advance(299);
    expect(looks.isDue()).toBe(false);
    clock.advance(1);
    expect(looks.isDue()).toBe(true);
  });
});

describe('the outbox of a process at rest', () => {
  test('a process whose messages are all confirmed looks for others once in five seconds', async () => {
    const { engine, send, clock, asked } = setup();
    await send('e-1', add('a'));
    for (let at = 0; at < 10; at += 1, clock.advance(1_000)) await engine.sweep(STALE_MS);
    expect(asked.claimOutbox).toBe(2);
  });

  test('a message that the bus has not confirmed is looked for at each sweep', async () => {
    let confirms = false;
    const { engine, send, clock, memory } = setup({ publish: () => Promise.resolve(confirms) });
    await engine.sweep(STALE_MS);
    await send('e-1', add('a'));
    confirms = true;
    for (let at = 0; at < 6; at += 1, clock.advance(1_000)) await engine.sweep(STALE_MS);
    expect(await engine.sweep(STALE_MS)).toBe(1);
    await engine.sweep(STALE_MS);
    expect(memory.tables.outbox.size).toBe(0);
  });

  test('a message of a commit without an answer is looked for at each sweep', async () => {
    const { engine, store, memory, send, clock, asked } = setup();
    const lock = (...given: Parameters<typeof store.lock>) => memory.lock(...given);
    let fails = true;
    store.lock = async (...given: Parameters<typeof lock>) => {
      const transaction = await lock(...given);
      const commit = async (...write: Parameters<typeof transaction.commit>) => {
        const row = await transaction.commit(...write);
        if (!fails) return row;
        fails = false;
        throw new CommitUnknown('no answer');
      };
      return { ...transaction, commit };
    };
    await engine.sweep(STALE_MS);
    await send('e-1', add('a'));
    clock.advance(1_000);
    await engine.sweep(STALE_MS);
    expect(asked.claimOutbox).toBe(2);
  });

  test('a process that takes over publishes all rows, though its first sweep leaves some', async () => {
    const { engine, store, options, clock } = setup(undefined, () => true);
    const dead = engineOver(store, { ...options, publisher: { publish: () => Promise.resolve(false) } });
    for (let count = 1; count <= 101; count += 1) await dead.send(`e-${String(count)}`, add('a'));
    clock.advance(1);
    engine.lookAnew();
    expect(await engine.sweep(0)).toBe(100);
    let later = 0;
    for (let at = 0; at < 6; at += 1) {
      clock.advance(1_000);
      later += await engine.sweep(STALE_MS);
    }
    expect(later).toBe(1);
  });

  test('a process that takes over looks at once', async () => {
    const { engine, asked } = setup();
    await engine.sweep(0);
    engine.lookAnew();
    await engine.sweep(0);
    expect(asked.claimOutbox).toBe(2);
  });
});
