import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { describe, expect, test } from 'vitest';
import type { CrashPoint, Publisher, WireMessage } from './ports.ts';
import { add, engineInMemory, engineOver, headerOf, stillClock } from '../../testing/engine-run.ts';
import { createMemoryStore } from '../memory/store.ts';

const STALE_MS = 5_000;
const idsOf = (messages: readonly WireMessage[]) =>
  messages.map((message) => headerOf(message, HEADERS.messageId));

/** A bus that confirms as `state` says, and records all messages. */
const fussyBus = () => {
  const sent: WireMessage[] = [];
  const state = { confirms: true };
  const publisher: Publisher = {
    publish: (messages) => {
      sent.push(...messages);
      return Promise.resolve(state.confirms);
    },
  };
  return { publisher, sent, state };
};

describe('what the bus has confirmed', () => {
  test('a confirmed outbox row is removed with the next batch', async () => {
    const { send, tables } = engineInMemory();
    await send('e-1', add('a'));
    const [first] = tables.outbox.keys();
    await send('e-1', add('b'));
    expect([...tables.outbox.keys()]).not.toContain(first);
  });

  test('a confirmed outbox row is no reason for a transaction of a timer tick', async () => {
    const { send, engine, committed, tables } = engineInMemory();
    await send('e-1', add('a'));
    engine.tick();
    await engine.idle();
    expect(tables.outbox.size).toBe(1);
    expect(committed).toEqual([1]);
  });

  test('a confirmed outbox row is removed by the sweeper when no batch follows', async () => {
    const { send, tables, engine } = engineInMemory();
    await send('e-1', add('a'));
    await engine.sweep(STALE_MS);
    expect(tables.outbox.size).toBe(0);
  });

  test('a confirmed outbox row is removed later when the store is away', async () => {
    const clock = stillClock();
    const memory = createMemoryStore(clock.now);
    let away = true;
    const store = {
      ...memory,
      confirmOutbox: (ids: readonly string[]) =>
        away ? Promise.reject(new Error('away')) : memory.confirmOutbox(ids),
    };
    const { send, engine } = engineOver(store);
    await send('e-1', add('a'));
    await expect(engine.sweep(STALE_MS)).rejects.toThrow('away');
    away = false;
    await engine.sweep(STALE_MS);
    expect(memory.tables.outbox.size).toBe(0);
  });
});

describe('what the bus has not confirmed', () => {
  test('an unconfirmed outbox row stays, and is published again under the same ids', async () => {
    const { publisher, sent, state } = fussyBus();
    const { send, engine, clock, tables, unconfirmed } = engineInMemory({ publisher });
    state.confirms = false;
    await send('e-1', { kind: 'busy', key: 'a' }, '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
    await send('e-2', add('b'));
    expect(tables.outbox.size).toBe(2);
    expect(unconfirmed).toEqual([2, 1]);
    const first = sent.splice(0);
    state.confirms = true;
    clock.advance(STALE_MS + 1);
    expect(await engine.sweep(STALE_MS)).toBe(2);
    expect(idsOf(sent)).toEqual(['effect.e-1.1', 'busy.a', 'effect.e-2.1']);
    expect(sent).toEqual(first);
    await engine.sweep(STALE_MS);
    expect(tables.outbox.size).toBe(0);
  });

  test('a young unconfirmed outbox row is left alone', async () => {
    const { publisher, sent, state } = fussyBus();
    const { send, engine, clock } = engineInMemory({ publisher });
    state.confirms = false;
    await send('e-1', add('a'));
    sent.splice(0);
    clock.advance(STALE_MS);
    expect(await engine.sweep(STALE_MS)).toBe(0);
    expect(sent).toEqual([]);
  });

  test('messages that receivers cannot verify yet wait in the outbox, also for the sweeper', async () => {
    const { publisher, sent } = fussyBus();
    const known = { yet: false };
    const { send, engine, clock, tables } = engineInMemory({ publisher, mayPublish: () => known.yet });
    await send('e-1', add('a'));
    clock.advance(STALE_MS + 1);
    expect([await engine.sweep(STALE_MS), sent.length, tables.outbox.size]).toEqual([0, 0, 1]);
    known.yet = true;
    engine.lookAnew();
    expect(await engine.sweep(0)).toBe(1);
    expect(idsOf(sent)).toEqual(['effect.e-1.1']);
  });

  test('an unconfirmed row is published by one of several sweepers, and by another if that one dies', async () => {
    const { publisher, sent, state } = fussyBus();
    const { send, engine, clock, store } = engineInMemory({ publisher });
    const other = engineOver(store, { publisher });
    state.confirms = false;
    await send('e-1', add('a'));
    sent.splice(0);
    clock.advance(STALE_MS + 1);
    expect([await engine.sweep(STALE_MS), await other.engine.sweep(STALE_MS)]).toEqual([1, 0]);
    clock.advance(60_000);
    expect(await other.engine.sweep(STALE_MS)).toBe(1);
    expect(sent).toHaveLength(2);
  });
});

describe('an engine that dies', () => {
  /** Stops answering at a point, as a process does that is killed there. */
  const dying = (point: CrashPoint) => {
    const run = engineInMemory({
      crash: (passed) => {
        if (passed === point) throw new Error(`killed ${point}`);
      },
    });
    return { ...run, next: engineOver(run.store) };
  };

  test('a crash before the commit leaves nothing', async () => {
    const { send, tables, bus } = dying('before_commit');
    await send('e-1', { kind: 'busy', key: 'a', dueAt: 1 });
    expect([tables.events.size, tables.outbox.size, tables.timers.size, bus.published.length]).toEqual([
      0, 0, 0, 0,
    ]);
  });

  test.each(['after_commit', 'after_publish'] as const)(
    'a crash at %s loses no event: the next engine publishes it',
    async (point) => {
      const { send, clock, next, tables } = dying(point);
      await send('e-1', { kind: 'busy', key: 'a', dueAt: 1 });
      expect(tables.events.get('e-1')).toHaveLength(1);
      clock.advance(STALE_MS + 1);
      await next.engine.sweep(STALE_MS);
      expect(idsOf(next.bus.published)).toEqual(['effect.e-1.1', 'busy.a']);
      // The message was not acknowledged, so that it comes again.
      expect(await next.send('e-1', { kind: 'busy', key: 'a', dueAt: 1 })).toEqual({ settled: undefined });
      expect(tables.events.get('e-1')).toHaveLength(1);
    },
  );
});
