import { describe, expect, test } from 'vitest';
import { CommitUnknown, Conflict, DataRefused } from './ports.ts';
import { add, engineInMemory, engineOver, letter, stillClock, unreliable } from '../../testing/engine-run.ts';
import { createMemoryStore } from '../memory/store.ts';
import { tallyKind } from '../../testing/tally.ts';

const setup = (options: Parameters<typeof engineOver>[1] = {}) => {
  const clock = stillClock();
  const memory = createMemoryStore(clock.now);
  const shaky = unreliable(memory);
  return { clock, memory, tables: memory.tables, ...shaky, ...engineOver(shaky.store, options) };
};
const conflict = (): Conflict => new Conflict('somebody else was first');
const unknown = (stands: boolean) => ({ unknown: new CommitUnknown('no answer'), stands });

describe('a commit that lost its race', () => {
  test('a conflict is decided again', async () => {
    const { send, commits, tables, log } = setup();
    commits.push(conflict(), conflict());
    expect(await send('e-1', { kind: 'busy', key: 'a' })).toEqual({ settled: undefined });
    expect(tables.events.get('e-1')).toHaveLength(1);
    expect(log.filter((entry) => entry === 'work a')).toHaveLength(1);
  });

  test('a conflict is decided again on the state that the winner left', async () => {
    const { send, commits, memory } = setup();
    const other = engineOver(memory);
    await send('e-1', add('a'));
    // Another engine writes while the first one has the old state in its cache.
    await other.send('e-1', add('b', 5));
    commits.push(conflict());
    expect(await send('e-1', add('c'))).toEqual({ settled: { ok: { total: 6 } } });
  });

  test('a batch with repeated conflicts is given up', async () => {
    const { engine, send, commits, open, failures, tables } = setup();
    commits.push(...Array.from({ length: 5 }, conflict));
    expect(await send('e-1', add('a'))).toEqual({ unavailable: true });
    await engine.idle();
    expect(failures).toMatchObject([{ name: 'Conflict' }]);
    expect(open()).toBe(0);
    expect(await send('e-1', add('a'))).toEqual({ settled: { ok: { total: 0 } } });
    expect(tables.events.get('e-1')).toHaveLength(1);
  });
});

describe('a commit that was not answered', () => {
  test.each([true, false])(
    'an unknown commit is decided again and applied once (it stands: %s)',
    async (stands) => {
      const { send, commits, tables } = setup();
      commits.push(unknown(stands));
      const fates = await Promise.all([send('e-1', add('a')), send('e-1', add('b'))]);
      expect(fates).toMatchObject([{ settled: { ok: {} } }, { settled: { ok: {} } }]);
      expect(tables.events.get('e-1')).toMatchObject([{ key: 'a' }, { key: 'b' }]);
    },
  );

  test('the sweeper publishes the events of an unknown commit that stands', async () => {
    const { send, commits, engine, clock, bus } = setup();
    commits.push(unknown(true));
    await send('e-1', add('a'));
    expect(bus.published).toEqual([]);
    clock.advance(10_000);
    expect(await engine.sweep(5_000)).toBe(1);
    expect(bus.published.map(({ subject }) => subject)).toEqual(['hp.evt.effect.added.e-1']);
  });
});

describe('what the store will never take', () => {
  const refusing = (setupOf: ReturnType<typeof setup>, key: string): void => {
    setupOf.refuses.push(({ events }) =>
      events.some(({ body }) => body.includes(`"${key}"`)) ? new DataRefused('22P05') : undefined,
    );
  };

  test('a message with refused data is found, and the others of its batch commit', async () => {
    const run = setup();
    refusing(run, 'bad');
    const keys = ['a', 'b', 'bad', 'c'];
    const fates = await Promise.all(keys.map((key, i) => run.send(`e-${String(i % 2)}`, add(key))));
    expect(fates.map((fate) => Object.keys(fate)[0])).toEqual(['settled', 'settled', 'failed', 'settled']);
    expect(fates[2]).toMatchObject({ failed: { code: 'RUNTIME_POISON' }, cause: { name: 'DataRefused' } });
    expect([...run.tables.events.values()].flat()).toMatchObject([{ key: 'a' }, { key: 'b' }, { key: 'c' }]);
    expect(run.open()).toBe(0);
  });

  test('a single message with refused data fails at once, and the next one commits', async () => {
    const run = setup();
    refusing(run, 'bad');
    expect(await run.send('e-1', add('bad'))).toMatchObject({ failed: {} });
    expect(await run.send('e-1', add('good'))).toMatchObject({ settled: {} });
  });

  test('refused data does not lose a dead letter', async () => {
    const run = setup();
    refusing(run, 'bad');
    let stored = 0;
    run.engine.keepDeadLetter(letter(), () => void (stored += 1));
    await Promise.all([run.send('e-1', add('bad')), run.send('e-2', add('good'))]);
    await run.engine.idle();
    expect(stored).toBe(1);
  });
});

describe('a history that this release cannot read', () => {
  const NEWER = { type: 'of_another_release', key: 'n' };
  const withHistory = async (history: readonly object[]) => {
    const run = setup();
    await Promise.all([run.send('e-1', { kind: 'set', name: 'later', dueAt: 0 }), run.send('e-2', add('a'))]);
    run.tables.events.get('e-1')?.splice(0, 1, ...history);
    return { ...run, ...engineOver(run.memory) };
  };

  test.each([
    ['an event of an unknown type', NEWER],
    ['an event that cannot be folded', { type: 'broken' }],
  ])('%s fails the messages of its aggregate with a code, and no others', async (_, event) => {
    const { send, tables } = await withHistory([event]);
    const fates = await Promise.all([send('e-1', add('b')), send('e-2', add('b')), send('e-3', add('b'))]);
    const message = `cannot read a stored event of type ${event.type}: run the release that wrote it`;
    expect(fates).toMatchObject([
      { failed: { code: 'RUNTIME_HISTORY_UNREADABLE', message } },
      { settled: {} },
      { settled: {} },
    ]);
    expect(tables.events.get('e-1')).toEqual([event]);
    expect(tables.events.get('e-2')).toHaveLength(2);
  });

  test('an unknown kind of aggregate fails its messages with the same code, and no others', async () => {
    const run = await withHistory([NEWER]);
    const head = run.tables.heads.get('e-1');
    if (head !== undefined) run.tables.heads.set('e-1', { ...head, kind: 'of_another_release' });
    const fates = await Promise.all([run.send('e-1', add('b')), run.send('e-2', add('b'))]);
    expect(fates).toMatchObject([{ failed: { code: 'RUNTIME_HISTORY_UNREADABLE' } }, { settled: {} }]);
  });

  test('the timers of its aggregate stay, and fire once it can be read', async () => {
    const { engine, memory, tables, timersFailed, clock } = await withHistory([NEWER]);
    engine.lookAnew();
    engine.tick();
    await engine.idle();
    expect(timersFailed).toEqual(['e-1/later']);
    expect([...tables.timers.values()]).toMatchObject([{ aggregate: 'e-1', name: 'later' }]);
    tables.events.set('e-1', [{ type: 'added', key: 'n', by: 1 }]);
    clock.advance(60_000);
    const later = engineOver(memory);
    later.engine.lookAnew();
    later.engine.tick();
    await later.engine.idle();
    expect(tables.events.get('e-1')).toMatchObject([{ key: 'n' }, { key: 'timer later' }]);
  });
});

describe('a store that does not answer', () => {
  test('messages are given back while the store is away', async () => {
    const { engine, send, down, failures, open } = setup();
    down(new Error('connection refused'));
    expect(await Promise.all([send('e-1', add('a')), send('e-2', add('a'))])).toEqual([
      { unavailable: true },
      { unavailable: true },
    ]);
    expect(failures).toMatchObject([{ message: 'connection refused' }]);
    await engine.idle();
    down();
    expect(await send('e-1', add('a'))).toMatchObject({ settled: {} });
    expect(open()).toBe(0);
  });

  test('a failing store leaves no aggregate locked', async () => {
    const { send, commits, memory } = setup();
    commits.push(...Array.from({ length: 5 }, () => unknown(false)));
    expect(await send('e-1', add('a'))).toEqual({ unavailable: true });
    expect(await engineOver(memory).send('e-1', add('b'))).toMatchObject({ settled: {} });
  });

  test('no work begins while the store is away', async () => {
    const { send, commits, log, bus } = setup();
    commits.push(...Array.from({ length: 5 }, conflict));
    await send('e-1', { kind: 'busy', key: 'a' });
    expect(log).not.toContain('work a');
    expect(bus.published).toEqual([]);
  });

  test('messages of an outage wait for the next message or tick', async () => {
    const { engine, send, down } = setup({ batchMax: 1 });
    down(new Error('away'));
    const fates = [send('e-1', add('a')), send('e-1', add('b'))];
    expect(await fates[0]).toEqual({ unavailable: true });
    await engine.idle();
    expect(engine.backlog()).toBe(1);
    down();
    engine.tick();
    expect(await fates[1]).toMatchObject({ settled: {} });
  });
});

test('a failing summary loses no dead letter', async () => {
  let broken = true;
  const summarise: typeof tallyKind.summarise = (state) => {
    if (broken) throw new TypeError('no summary');
    return tallyKind.summarise(state);
  };
  const { engine, send, tables } = engineInMemory({ kind: { ...tallyKind, summarise } });
  engine.keepDeadLetter(letter(), () => undefined);
  expect(await send('e-1', add('a'))).toEqual({ unavailable: true });
  await engine.idle();
  broken = false;
  expect(await send('e-1', add('a'))).toMatchObject({ settled: {} });
  await engine.idle();
  expect(tables.deadLetters).toEqual([letter()]);
});

describe('states that are kept in memory', () => {
  test('the cache may be smaller than a batch', async () => {
    const { send, memory } = setup();
    const ids = Array.from({ length: 20 }, (_, i) => `e-${String(i)}`);
    await Promise.all(ids.map((id) => send(id, add('a'))));
    const small = engineOver(memory, { cacheMax: 3 });
    for (const key of ['b', 'c', 'd']) {
      const fates = await Promise.all(ids.map((id) => small.send(id, add(key))));
      expect(fates.filter((fate) => !('settled' in fate))).toEqual([]);
    }
    expect(memory.tables.events.get('e-7')).toMatchObject([
      { key: 'a' },
      { key: 'b' },
      { key: 'c' },
      { key: 'd' },
    ]);
  });

  test('a batch keeps its states when the cache evicts them', async () => {
    const { send, memory } = setup();
    await Promise.all(['e-1', 'e-2', 'e-3'].map((id) => send(id, add('a'))));
    const small = engineOver(memory, { cacheMax: 2 });
    await small.send('e-1', add('b'));
    await small.send('e-2', add('b'));
    // The first of these is known, and the oldest; the last is not, and takes its place.
    const fates = await Promise.all(['e-1', 'e-2', 'e-3'].map((id) => small.send(id, add('c'))));
    expect(fates.map((fate) => Object.keys(fate)[0])).toEqual(['settled', 'settled', 'settled']);
  });
});
