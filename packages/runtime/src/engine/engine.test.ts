import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { describe, expect, test } from 'vitest';
import {
  add,
  engineInMemory,
  engineOver,
  headerOf,
  letter,
  stillClock,
  unreliable,
} from '../../testing/engine-run.ts';
import { createMemoryStore } from '../memory/store.ts';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('a message', () => {
  test('a message is decided, stored, published and only then answered', async () => {
    const { send, log, tables, bus } = engineInMemory();
    expect(await send('e-1', { kind: 'busy', key: 'a' })).toEqual({ settled: undefined });
    expect(log).toEqual([
      'before_commit',
      'after_commit',
      'publish',
      'after_publish',
      'work a',
      'settled',
      'after_ack',
    ]);
    expect(tables.events.get('e-1')).toEqual([{ type: 'added', key: 'a', by: 1 }]);
    expect(bus.published.map(({ subject }) => subject)).toEqual([
      'hp.evt.effect.added.e-1',
      'hp.cmd.task.checkpoint',
    ]);
  });

  test('the answer is that of the decision', async () => {
    const { send } = engineInMemory();
    await send('e-1', add('a', 7));
    expect(await send('e-1', add('b'))).toEqual({ settled: { ok: { total: 7 } } });
    expect(await send('e-1', { kind: 'refuse' })).toMatchObject({
      settled: { error: { code: 'ERR_FORBIDDEN' } },
    });
  });

  test('a message without effects writes nothing and is answered', async () => {
    const { send, tables, bus, committed } = engineInMemory();
    await send('e-1', add('a'));
    const rows = tables.outbox.size;
    expect(await send('e-1', add('a'))).toEqual({ settled: { ok: { total: 1 } } });
    expect(tables.events.get('e-1')).toHaveLength(1);
    expect(tables.outbox.size).toBeLessThanOrEqual(rows);
    expect(bus.published).toHaveLength(1);
    expect(committed).toEqual([1, 1]);
  });

  test('events and messages carry the trace of their cause', async () => {
    const { send, bus, tables } = engineInMemory();
    await send('e-1', { kind: 'busy', key: 'a', dueAt: 5 }, TRACE);
    expect(bus.published.map((message) => headerOf(message, HEADERS.trace))).toEqual([TRACE, TRACE]);
    expect(tables.timers.get('e-1/busy')).toMatchObject({ trace: TRACE, dueAt: 5, data: { key: 'a' } });
  });
});

describe('while one batch commits', () => {
  test('the next batch gathers while one commits', async () => {
    const { store, hold } = unreliable(createMemoryStore(stillClock().now));
    const { send, committed } = engineOver(store);
    const release = hold();
    const first = send('e-0', add('a'));
    await expect.poll(() => committed).toEqual([]);
    const rest = Array.from({ length: 30 }, (_, i) => send(`e-${String(i)}`, add('b')));
    release();
    await Promise.all([first, ...rest]);
    expect(committed).toEqual([1, 30]);
  });

  test('a batch has at most the configured number of messages', async () => {
    const { store, hold } = unreliable(createMemoryStore(stillClock().now));
    const { send, committed } = engineOver(store, { batchMax: 20 });
    const release = hold();
    const all = Array.from({ length: 50 }, (_, i) => send('e-1', add(String(i))));
    release();
    await Promise.all(all);
    expect(committed.reduce((sum, size) => sum + size, 0)).toBe(50);
    expect(Math.max(...committed)).toBe(20);
  });

  test('before the commit nothing is answered or published, and no work starts', async () => {
    const { store, hold, open } = unreliable(createMemoryStore(stillClock().now));
    const { send, log } = engineOver(store);
    const release = hold();
    const fate = send('e-1', { kind: 'busy', key: 'a' });
    await expect.poll(open).toBe(1);
    await new Promise((resolve) => void setImmediate(resolve));
    expect(log).toEqual(['before_commit']);
    release();
    await fate;
    expect(log).toContain('work a');
  });
});

test('a transaction that writes neither an event nor a dead letter passes no crash point', async () => {
  const { send, log } = engineInMemory();
  await send('e-1', add('a'));
  const before = log.length;
  await send('e-1', add('a'));
  expect(before).toBeGreaterThan(0);
  expect(log.slice(before)).not.toContain('before_commit');
});

describe('in one batch', () => {
  const batchOf = async (...messages: Parameters<ReturnType<typeof engineInMemory>['send']>[]) => {
    const run = engineInMemory();
    const fates = await Promise.all(messages.map((message) => run.send(...message)));
    return { ...run, fates };
  };

  test('each decision of a batch sees the state that earlier decisions left', async () => {
    const { fates, tables, committed } = await batchOf(
      ['e-1', add('a', 2)],
      ['e-1', add('a', 9)],
      ['e-1', add('b', 3)],
      ['e-1', add('c')],
    );
    expect(committed).toEqual([4]);
    expect(fates).toEqual([0, 2, 2, 5].map((total) => ({ settled: { ok: { total } } })));
    expect(tables.events.get('e-1')).toMatchObject([{ key: 'a', by: 2 }, { key: 'b' }, { key: 'c' }]);
  });

  test('a message that cannot be handled does not block its batch', async () => {
    const { fates, tables } = await batchOf(
      ['e-1', add('a')],
      ['e-1', { kind: 'poison' }],
      ['e-2', add('b')],
      ['e-1', add('c')],
    );
    expect(fates).toMatchObject([
      { settled: {} },
      { failed: { code: 'RUNTIME_POISON' } },
      { settled: {} },
      { settled: {} },
    ]);
    expect(tables.events.get('e-1')).toHaveLength(2);
    expect(tables.events.get('e-2')).toHaveLength(1);
  });

  test('a message that cannot be handled fails with its own code and cause', async () => {
    const { fates } = await batchOf(
      ['e-1', { kind: 'poison', code: 'CONTRACT_INVALID' }],
      ['e-1', { kind: 'poison' }],
    );
    expect(fates).toMatchObject([
      { failed: { code: 'CONTRACT_INVALID' } },
      { failed: { code: 'RUNTIME_POISON' }, cause: { name: 'TypeError' } },
    ]);
    expect(JSON.stringify(fates[1])).not.toContain('cannot be');
  });

  test('a decision whose events cannot be folded leaves nothing', async () => {
    const { fates, tables, log, bus } = await batchOf(
      ['e-1', add('a')],
      ['e-1', { kind: 'unfoldable' }],
      ['e-1', add('b')],
    );
    expect(fates).toMatchObject([{ settled: {} }, { failed: {} }, { settled: {} }]);
    expect(tables.events.get('e-1')).toMatchObject([{ key: 'a' }, { key: 'b' }]);
    expect(log).not.toContain('work never');
    expect(bus.published).toHaveLength(2);
  });
});

describe('a dead letter', () => {
  test('a dead letter is stored, and its callback runs after the commit', async () => {
    const { engine, tables, log } = engineInMemory();
    engine.keepDeadLetter(letter(), () => log.push('stored'));
    await engine.idle();
    expect(log).toEqual(['before_commit', 'after_commit', 'after_publish', 'stored', 'after_ack']);
    expect(tables.deadLetters).toEqual([letter()]);
  });

  test('a dead letter shares the transaction of a batch', async () => {
    const { engine, send, committed, tables } = engineInMemory();
    engine.keepDeadLetter(letter(), () => undefined);
    await send('e-1', add('a'));
    expect(committed).toEqual([1]);
    expect(tables.deadLetters).toHaveLength(1);
  });

  test('a dead letter waits until the store takes it', async () => {
    const memory = createMemoryStore(stillClock().now);
    const { store, down } = unreliable(memory);
    const { engine, log, failures } = engineOver(store);
    down(new Error('away'));
    engine.keepDeadLetter(letter(), () => log.push('stored'));
    await engine.idle();
    expect({ log, failures: failures.length }).toEqual({ log: [], failures: 1 });
    down();
    engine.tick();
    await engine.idle();
    expect(log).toContain('stored');
    expect(memory.tables.deadLetters).toEqual([letter()]);
  });
});

test('no message waits when the engine is idle', async () => {
  const { engine, send } = engineInMemory();
  const all = Array.from({ length: 250 }, (_, i) => send('e-1', add(String(i))));
  expect(engine.backlog()).toBeGreaterThan(0);
  await engine.idle();
  expect(engine.backlog()).toBe(0);
  expect(await Promise.all(all)).toHaveLength(250);
  await engine.idle();
});

test('an aggregate publishes one event per version without a gap', async () => {
  const { send, bus } = engineInMemory();
  for (let i = 0; i < 5; i += 1)
    await Promise.all([send('e-1', add(`a${String(i)}`)), send('e-1', add(`b${String(i)}`))]);
  expect(bus.published.map((message) => headerOf(message, HEADERS.version))).toEqual([
    '1',
    '2',
    '3',
    '4',
    '5',
    '6',
    '7',
    '8',
    '9',
    '10',
  ]);
  expect(new Set(bus.published.map((message) => headerOf(message, HEADERS.messageId))).size).toBe(10);
});
