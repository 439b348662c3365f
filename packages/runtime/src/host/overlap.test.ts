import { describe, expect, test } from 'vitest';
import { add, engineOver, stillClock, unreliable } from '../../testing/engine-run.ts';
import { CommitUnknown, Conflict, type Store, type Transaction } from '../engine/ports.ts';
import { createMemoryStore } from '../memory/store.ts';

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
};

/** An engine with two transactions at once, over a store that holds commits back. */
const overlapping = (overlapMax = 2) => {
  const clock = stillClock();
  const memory = createMemoryStore(clock.now);
  const held = unreliable(memory);
  return { clock, memory, held, ...engineOver(held.store, { overlapMax, batchMax: 2 }) };
};
const keysOf = ({ tables }: Pick<ReturnType<typeof createMemoryStore>, 'tables'>, aggregate: string) =>
  (tables.events.get(aggregate) ?? []).map((event) => (event as { readonly key: string }).key);

describe('transactions that overlap', () => {
  test('a transaction decides while the one before it commits', async () => {
    const { held, send, log, engine, memory } = overlapping();
    const release = held.hold();
    const first = send('a', add('1'));
    await turns();
    const second = send('b', add('2'));
    await turns();
    expect(log).toEqual(['before_commit', 'before_commit']);
    expect(held.open()).toBe(2);
    release();
    await Promise.all([first, second]);
    await engine.idle();
    expect([keysOf(memory, 'a'), keysOf(memory, 'b')]).toEqual([['1'], ['2']]);
  });

  test('without an overlap, a transaction waits for the end of the one before it', async () => {
    const { held, send, log } = overlapping(1);
    const release = held.hold();
    const first = send('a', add('1'));
    await turns();
    const second = send('b', add('2'));
    await turns();
    expect(log).toEqual(['before_commit']);
    release();
    await Promise.all([first, second]);
  });

  test('no more transactions are under way than allowed', async () => {
    const { held, send } = overlapping();
    const release = held.hold();
    const sent = ['a', 'b', 'c', 'd'].map(async (aggregate) => {
      const fate = send(aggregate, add('1'));
      await turns();
      return fate;
    });
    await turns();
    expect(held.open()).toBe(2);
    release();
    await Promise.all(sent);
  });

  test('the messages of an aggregate keep their order, and others do not wait for them', async () => {
    const { held, send, engine, memory, committed } = overlapping();
    const release = held.hold();
    const sent = [send('a', add('1'))];
    await turns();
    sent.push(send('a', add('2')), send('b', add('1')), send('a', add('3')), send('b', add('2')));
    await turns();
    expect(held.open()).toBe(2);
    release();
    await Promise.all(sent);
    await engine.idle();
    expect([keysOf(memory, 'a'), keysOf(memory, 'b')]).toEqual([
      ['1', '2', '3'],
      ['1', '2'],
    ]);
    expect(committed).toEqual([1, 2, 2]);
  });

  test('a message for an aggregate under way is decided after its commit', async () => {
    const { held, send, engine, memory } = overlapping();
    const release = held.hold();
    const first = send('a', add('1'));
    await turns();
    const second = send('a', add('2'));
    await turns();
    expect(held.open()).toBe(1);
    release();
    expect(await Promise.all([first, second])).toEqual([
      { settled: { ok: { total: 0 } } },
      { settled: { ok: { total: 1 } } },
    ]);
    await engine.idle();
    expect(keysOf(memory, 'a')).toEqual(['1', '2']);
  });

  test.each([new Conflict('lost a race'), new CommitUnknown('no answer')])(
    'a commit that fails is decided again before later messages of its aggregates',
    async (fate) => {
      const { held, send, engine, memory, failures } = overlapping();
      held.commits.push(
        fate instanceof CommitUnknown ? { unknown: fate, stands: true } : fate,
        'well',
        'well',
      );
      const release = held.hold();
      const first = send('a', add('1'));
      await turns();
      const others = [send('b', add('1')), send('a', add('2'))];
      await turns();
      release();
      await Promise.all([first, ...others]);
      await engine.idle();
      expect(failures).toEqual([]);
      expect([keysOf(memory, 'a'), keysOf(memory, 'b')]).toEqual([['1', '2'], ['1']]);
      expect(held.open()).toBe(0);
    },
  );

  test('a timer of an aggregate under way fires after its commit', async () => {
    const { clock, held, send, engine, memory } = overlapping();
    await send('a', { kind: 'set', name: 'later', dueAt: clock.now() });
    const release = held.hold();
    const first = send('a', { kind: 'clear', name: 'later' });
    await turns();
    engine.tick();
    await turns();
    release();
    await first;
    engine.tick();
    await engine.idle();
    expect(keysOf(memory, 'a')).toEqual(['set later']);
  });

  test('a timer fires only after the process knows of the latest commit of its aggregate', async () => {
    const clock = stillClock();
    const memory = createMemoryStore(clock.now);
    let answered = Promise.resolve();
    const late = (transaction: Transaction): Transaction => ({
      ...transaction,
      commit: async (write) => {
        const row = await transaction.commit(write);
        await answered;
        return row;
      },
    });
    const store: Store = {
      ...memory,
      lock: async (...asked) => late(await memory.lock(...asked)),
      assume: async (...asked) => {
        const transaction = await memory.assume(...asked);
        return transaction && late(transaction);
      },
    };
    const { send, engine } = engineOver(store, { overlapMax: 2 });
    await send('a', { kind: 'set', name: 'later', dueAt: clock.now() });
    const { promise, resolve } = Promise.withResolvers<void>();
    answered = promise;
    const first = send('a', add('1'));
    await turns();
    engine.tick();
    await turns();
    expect(keysOf(memory, 'a')).toEqual(['set later', '1']);
    resolve();
    await first;
    engine.tick();
    await engine.idle();
    expect(keysOf(memory, 'a')).toEqual(['set later', '1', 'timer later']);
  });

  test.each([1, 2])('a message that comes while one of %s batches fails is decided', async (overlapMax) => {
    for (let moments = 0; moments < 30; moments += 1) {
      const { held, send } = overlapping(overlapMax);
      held.down(new Error('the store is away'));
      expect(await send('a', add('1'))).toEqual({ unavailable: true });
      held.down();
      for (let moment = 0; moment < moments; moment += 1) await Promise.resolve();
      expect(await send('a', add('2'))).toEqual({ settled: { ok: { total: 0 } } });
    }
  });

  test('an engine is idle once every transaction has ended', async () => {
    const { held, send, engine } = overlapping();
    const release = held.hold();
    void send('a', add('1'));
    await turns();
    void send('b', add('1'));
    await turns();
    let isIdle = false;
    const idle = engine.idle().then(() => (isIdle = true));
    await turns();
    expect(isIdle).toBe(false);
    release();
    await idle;
    expect(held.open()).toBe(0);
  });

  test('a state from before a new connection is not remembered after it', async () => {
    const memory = createMemoryStore(stillClock().now);
    const held = unreliable(memory);
    const loads: (readonly string[])[] = [];
    const fresh: boolean[] = [];
    const store: Store = {
      ...held.store,
      lock: async (aggregates, within) => {
        const transaction = await held.store.lock(aggregates, within);
        const load = (ids: readonly string[]) => (loads.push(ids), transaction.load(ids));
        return { ...transaction, load, cacheInvalid: fresh.shift() ?? false };
      },
    };
    const { send } = engineOver(store, { overlapMax: 2 });
    fresh.push(true, true);
    const release = held.hold();
    const first = send('a', add('1'));
    await turns();
    const second = send('b', add('1'));
    await turns();
    release();
    await Promise.all([first, second]);
    await Promise.all([send('a', add('2')), send('b', add('2'))]);
    expect(loads).toEqual([['a']]);
  });
});
