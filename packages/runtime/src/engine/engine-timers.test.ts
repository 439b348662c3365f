import { describe, expect, test } from 'vitest';
import { Conflict } from './ports.ts';
import { add, engineInMemory, engineOver, stillClock, unreliable } from '../../testing/engine-run.ts';
import { createMemoryStore } from '../memory/store.ts';

const setup = () => {
  const run = engineInMemory();
  return {
    ...run,
    set: (aggregate: string, name: string, inMs: number) =>
      run.send(aggregate, { kind: 'set', name, dueAt: run.clock.now() + inMs }),
    tick: async (): Promise<void> => {
      run.engine.tick();
      await run.engine.idle();
    },
    keysOf: (aggregate: string): readonly unknown[] =>
      (run.tables.events.get(aggregate) ?? []).map((event) => (event as { key: unknown }).key),
  };
};

describe('a timer', () => {
  test('a due timer becomes a message and is removed', async () => {
    const { set, tick, clock, keysOf, tables } = setup();
    await set('e-1', 'wake', 1_000);
    clock.advance(999);
    await tick();
    expect(keysOf('e-1')).toEqual(['set wake']);
    clock.advance(1);
    await tick();
    expect(keysOf('e-1')).toEqual(['set wake', 'timer wake']);
    expect(tables.timers.size).toBe(0);
    await tick();
    expect(keysOf('e-1')).toHaveLength(2);
  });

  test('a tick without a due timer begins no transaction', async () => {
    const clock = stillClock();
    const memory = createMemoryStore(clock.now);
    const looks: string[] = [];
    const store = {
      ...memory,
      lockDue: (limit: number) => {
        looks.push('lockDue');
        return memory.lockDue(limit);
      },
    };
    const { engine, send } = engineOver(store);
    await send('e-1', { kind: 'set', name: 'wake', dueAt: clock.now() + 1 });
    engine.tick();
    await engine.idle();
    expect(looks).toEqual([]);
    clock.advance(1);
    engine.tick();
    await engine.idle();
    expect(looks).toEqual(['lockDue']);
  });

  test('setting a timer again moves it', async () => {
    const { set, tick, clock, keysOf } = setup();
    await set('e-1', 'wake', 1_000);
    await set('e-1', 'wake', 5_000);
    clock.advance(4_999);
    await tick();
    expect(keysOf('e-1')).not.toContain('timer wake');
    clock.advance(1);
    await tick();
    expect(keysOf('e-1')).toContain('timer wake');
  });

  test('a cleared timer does not fire', async () => {
    const { set, send, tick, clock, keysOf } = setup();
    await set('e-1', 'wake', 1_000);
    await send('e-1', { kind: 'clear', name: 'wake' });
    clock.advance(9_000);
    await tick();
    expect(keysOf('e-1')).toEqual(['set wake']);
  });

  test('a timer is identified by its aggregate and its name', async () => {
    const { set, send, tick, clock, keysOf } = setup();
    await Promise.all([set('e-1', 'wake', 1), set('e-2', 'wake', 1), set('e-2', 'other', 1)]);
    await send('e-2', { kind: 'clear', name: 'wake' });
    clock.advance(1);
    await tick();
    expect(keysOf('e-1')).toContain('timer wake');
    expect(keysOf('e-2')).toContain('timer other');
    expect(keysOf('e-2')).not.toContain('timer wake');
  });

  test('a timer of an outage fires late', async () => {
    const { set, tick, clock, keysOf } = setup();
    await set('e-1', 'wake', 1_000);
    clock.advance(86_400_000);
    await tick();
    expect(keysOf('e-1')).toContain('timer wake');
  });
});

describe('timers that are due together', () => {
  test('due timers are decided in one transaction, in order of their due times', async () => {
    const { set, tick, clock, keysOf, committed } = setup();
    await set('e-1', 'second', 20);
    await set('e-1', 'first', 10);
    clock.advance(100);
    const before = committed.length;
    await tick();
    expect(keysOf('e-1')).toEqual(['set second', 'set first', 'timer first', 'timer second']);
    expect(committed.slice(before)).toEqual([2]);
  });

  test('all due timers fire, also more than one batch takes', async () => {
    const { send, tables, tick, clock } = setup();
    await Promise.all(
      Array.from({ length: 1_200 }, (_, i) =>
        send(`e-${String(i)}`, { kind: 'set', name: 'wake', dueAt: clock.now() + 1 }),
      ),
    );
    clock.advance(1);
    await tick();
    expect(tables.timers.size).toBe(0);
  });

  test('a timer that cannot be decided is set again and does not block the others', async () => {
    const { set, tick, clock, keysOf, timersFailed, tables } = setup();
    await Promise.all([
      set('e-1', 'before', 1),
      set('e-1', 'poison', 2),
      set('e-1', 'after', 3),
      set('e-2', 'wake', 4),
    ]);
    clock.advance(10);
    await tick();
    expect(timersFailed).toEqual(['e-1/poison']);
    expect(keysOf('e-1').slice(3)).toEqual(['timer before', 'timer after']);
    expect(keysOf('e-2')).toContain('timer wake');
    const [again] = tables.timers.values();
    expect(again?.dueAt).toBeGreaterThan(clock.now());
    await tick();
    expect(timersFailed).toHaveLength(1);
    clock.advance((again?.dueAt ?? 0) - clock.now());
    await tick();
    expect(timersFailed).toHaveLength(2);
  });
});

describe('a store that does not answer', () => {
  const shaky = () => {
    const clock = stillClock();
    const memory = createMemoryStore(clock.now);
    const store = unreliable(memory);
    return { clock, memory, ...store, ...engineOver(store.store) };
  };

  test('a store outage delays timers and loses none', async () => {
    const { clock, send, down, engine, memory, failures, open } = shaky();
    await send('e-1', { kind: 'set', name: 'wake', dueAt: clock.now() + 1 });
    clock.advance(1);
    down(new Error('away'));
    engine.tick();
    await engine.idle();
    expect(failures).toMatchObject([{ message: 'away' }]);
    expect(memory.tables.timers.size).toBe(1);
    down();
    engine.tick();
    await engine.idle();
    expect(memory.tables.timers.size).toBe(0);
    expect(open()).toBe(0);
  });

  test('a refused commit leaves the timer unchanged', async () => {
    const { clock, send, commits, engine, memory, open } = shaky();
    await send('e-1', { kind: 'set', name: 'wake', dueAt: clock.now() + 1 });
    clock.advance(1);
    commits.push(new Conflict('lock cycle'));
    engine.tick();
    await engine.idle();
    expect({ timers: memory.tables.timers.size, open: open() }).toEqual({ timers: 1, open: 0 });
    engine.tick();
    await engine.idle();
    expect(memory.tables.timers.size).toBe(0);
  });
});

test('the commit of its decision removes a timer', async () => {
  const clock = stillClock();
  const { store, refuses } = unreliable(createMemoryStore(clock.now));
  const { send, engine } = engineOver(store);
  await send('e-1', { kind: 'set', name: 'wake', dueAt: clock.now() + 1 });
  clock.advance(1);
  const writes: (readonly [cleared: number, events: number])[] = [];
  refuses.push(({ timersCleared, events }) => {
    writes.push([timersCleared.length, events.length]);
    return undefined;
  });
  engine.tick();
  await engine.idle();
  expect(writes).toEqual([[1, 1]]);
});

test('a check without due timers is no pass of the engine', async () => {
  const { tick, log, bus } = setup();
  await tick();
  expect(log).toEqual([]);
  expect(bus.published).toEqual([]);
});

test('timers and messages are both handled', async () => {
  const { set, send, engine, clock, keysOf } = setup();
  await set('e-1', 'wake', 1);
  clock.advance(1);
  engine.tick();
  await Promise.all([send('e-1', add('a')), send('e-2', add('b'))]);
  await engine.idle();
  expect(new Set(keysOf('e-1'))).toEqual(new Set(['a', 'set wake', 'timer wake']));
  expect(keysOf('e-2')).toEqual(['b']);
});

describe('states that a decision on timers reads', () => {
  /** An engine whose cache holds two states, and the locks that it takes. A timer named `poison` leaves the state as it was. */
  const small = async (poisoned: readonly string[]) => {
    const clock = stillClock();
    const memory = createMemoryStore(clock.now);
    const other = engineOver(memory);
    for (const id of poisoned) await other.send(id, { kind: 'set', name: 'poison', dueAt: clock.now() + 1 });
    const locked: (readonly string[])[] = [];
    const { engine, send, timersFailed } = engineOver(
      { ...memory, lock: (ids, within) => (locked.push(ids), memory.lock(ids, within)) },
      { cacheMax: 2 },
    );
    return {
      other,
      send,
      fired: async (): Promise<readonly string[]> => {
        clock.advance(10);
        engine.tick();
        await engine.idle();
        locked.length = 0;
        return timersFailed;
      },
      locked,
    };
  };

  test('they displace none of the states that messages have moved', async () => {
    const { send, fired, locked } = await small(['e-1', 'e-2', 'e-3']);
    await send('busy', add('a'));
    expect(await fired()).toHaveLength(3);
    expect(await send('busy', add('b'))).toMatchObject({ settled: {} });
    expect(locked).toEqual([]);
  });

  test('they replace states that are out of date', async () => {
    const { other, send, fired, locked } = await small(['e-1']);
    await send('e-1', add('a'));
    await other.send('e-1', add('b'));
    expect(await fired()).toHaveLength(1);
    expect(await send('e-1', add('c'))).toMatchObject({ settled: {} });
    expect(locked).toEqual([]);
  });
});
