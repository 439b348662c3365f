import { snapshotEvery } from './core.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Store } from './ports.ts';
import { add, engineInMemory, engineOver, type Fate } from '../../testing/engine-run.ts';
import { type Tally, tallyDecider, type TallyEvent, tallyKind } from '../../testing/tally.ts';

const fold = (events: readonly unknown[] = []): Tally =>
  (events as readonly TallyEvent[]).reduce(
    (state, event) => tallyDecider.evolve(state, event),
    tallyDecider.initial,
  );
const settledAll = (fates: readonly Fate[]): boolean => fates.every((fate) => 'settled' in fate);

describe('two engines over one store', () => {
  test('two engines apply each change once, for any receiver and any number of deliveries', async () => {
    const { store, send, tables } = engineInMemory();
    const other = engineOver(store);
    const keys = Array.from({ length: 40 }, (_, i) => String(i));
    const fates = await Promise.all(
      keys.flatMap((key) => [
        send('e-1', add(key)),
        other.send('e-1', add(key)),
        other.send('e-2', add(key)),
        send('e-2', add(key)),
      ]),
    );
    expect(settledAll(fates)).toBe(true);
    for (const id of ['e-1', 'e-2']) {
      expect(fold(tables.events.get(id)).total).toBe(40);
      expect(tables.heads.get(id)).toEqual({
        kind: 'tally',
        aggregate: id,
        version: 40,
        status: 'many',
        view: { total: 40 },
      });
    }
  });

  test("two engines see each other's changes in spite of their caches", async () => {
    const { store, send } = engineInMemory();
    const other = engineOver(store);
    for (let i = 0; i < 10; i += 1) {
      const which = i % 2 === 0 ? send : other.send;
      expect(await which('e-1', add(String(i)))).toEqual({ settled: { ok: { total: i } } });
    }
  });

  test('an engine locks what its cache lacks, and what another engine has changed', async () => {
    const { store } = engineInMemory();
    const locked: (readonly string[])[] = [];
    const counted: Store = {
      ...store,
      lock: (aggregates, within) => {
        locked.push(aggregates);
        return store.lock(aggregates, within);
      },
    };
    const { send } = engineOver(counted);
    const other = engineOver(store);
    await send('e-1', add('a'));
    expect(locked).toEqual([['e-1']]);
    await send('e-1', add('b'));
    await send('e-1', add('b'));
    expect(locked).toHaveLength(1);
    await other.send('e-1', add('c'));
    expect(await send('e-1', add('c'))).toEqual({ settled: { ok: { total: 3 } } });
    expect(locked).toEqual([['e-1'], ['e-1']]);
  });

  test('a message that creates its aggregate takes no lock, unless the aggregate exists', async () => {
    const { store, tables } = engineInMemory();
    let locks = 0;
    const counted: Store = {
      ...store,
      lock: (...asked) => {
        locks += 1;
        return store.lock(...asked);
      },
    };
    const { send } = engineOver(counted, { kind: { ...tallyKind, creates: () => true } });
    await engineOver(store).send('e-2', add('a'));
    await send('e-1', add('a'));
    expect(locks).toBe(0);
    expect(await send('e-2', add('b'))).toEqual({ settled: { ok: { total: 1 } } });
    expect(locks).toBe(1);
    expect(tables.events.get('e-2')).toHaveLength(2);
  });

  test('two engines fire each timer once', async () => {
    const { store, send, clock, engine, tables } = engineInMemory();
    const other = engineOver(store);
    const ids = Array.from({ length: 30 }, (_, i) => `e-${String(i)}`);
    await Promise.all(ids.map((id) => send(id, { kind: 'set', name: 'wake', dueAt: clock.now() + 1 })));
    clock.advance(1);
    engine.tick();
    other.engine.tick();
    await Promise.all([engine.idle(), other.engine.idle()]);
    for (const id of ids)
      expect(tables.events.get(id)).toMatchObject([{ key: 'set wake' }, { key: 'timer wake' }]);
  });

  test('two engines publish each event of an aggregate once, and versions have no gap', async () => {
    const { store, send, bus } = engineInMemory();
    const other = engineOver(store);
    await Promise.all(
      Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? send : other.send)('e-1', add(String(i)))),
    );
    const versions = [...bus.published, ...other.bus.published].map(({ headers }) =>
      Number(headers.find(([name]) => name === 'ce-version')?.[1]),
    );
    expect(versions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
  });
});

test("replicas agree with the record in any order of the store's answers", async () => {
  const messages = fc.array(
    fc.tuple(fc.boolean(), fc.constantFrom('e-1', 'e-2'), fc.constantFrom('a', 'b', 'c', 'd')),
    { maxLength: 15 },
  );
  await fc.assert(
    fc.asyncProperty(messages, fc.scheduler(), async (sent, scheduler) => {
      const { store, tables } = engineInMemory();
      const slow: Store = {
        ...store,
        lock: (ids, within) => scheduler.schedule(Promise.resolve()).then(() => store.lock(ids, within)),
      };
      const [one, two] = [engineOver(slow, { batchMax: 3 }), engineOver(slow, { batchMax: 3 })];
      const fates = sent.map(([first, id, key]) => (first ? one : two).send(id, add(key)));
      expect(settledAll(await scheduler.waitFor(Promise.all(fates)))).toBe(true);
      for (const id of new Set(sent.map(([, each]) => each))) {
        const keys = new Set(sent.filter(([, each]) => each === id).map(([, , key]) => key));
        expect(new Set(fold(tables.events.get(id)).keys)).toEqual(keys);
        expect(tables.events.get(id)).toHaveLength(keys.size);
        expect(tables.heads.get(id)).toMatchObject({ version: keys.size, view: { total: keys.size } });
      }
    }),
    { numRuns: 50 },
  );
});

describe('snapshots', () => {
  const kind = { ...tallyKind, snapshotDue: snapshotEvery(3) };

  test('a snapshot is taken after every so many events', async () => {
    const { send, tables } = engineInMemory({ kind });
    await send('e-1', add('a'));
    await send('e-1', add('b'));
    expect(tables.snapshots.size).toBe(0);
    await send('e-1', add('c'));
    expect(tables.snapshots.get('e-1')).toEqual({ version: 3, state: { total: 3, keys: ['a', 'b', 'c'] } });
    await Promise.all(['d', 'e', 'f', 'g'].map((key) => send('e-1', add(key))));
    expect(tables.snapshots.get('e-1')).toMatchObject({ version: 6, state: { total: 6 } });
  });

  test('a snapshot and the later events give the same state as all events', async () => {
    const { send, store, tables } = engineInMemory({ kind });
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) await send('e-1', add(key));
    const fresh = engineOver(store, { kind });
    expect(await fresh.send('e-1', add('a'))).toEqual({ settled: { ok: { total: 7 } } });
    expect(fold(tables.events.get('e-1')).total).toBe(7);
  });

  test('without snapshots the state is the same', async () => {
    const { send, store, tables } = engineInMemory({ kind });
    for (const key of ['a', 'b', 'c', 'd']) await send('e-1', add(key));
    tables.snapshots.clear();
    expect(await engineOver(store).send('e-1', add('x'))).toEqual({ settled: { ok: { total: 4 } } });
  });
});
