import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { EffectId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { createEngine, type Engine } from '@holdpoint/runtime/engine/engine';
import type { Store } from '@holdpoint/runtime/engine/ports';
import { createMemoryStore } from '@holdpoint/runtime/memory/store';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { stillClock } from '@holdpoint/runtime/testing/engine-run';
import { expect, test } from 'vitest';
import { decider, effectOf, NOW, orderFor } from '../../../testing/orders.ts';
import { executorBindings, executorKinds } from '../../bindings.ts';
import { createRunner, type ToEffect } from '../runner/runner.ts';
import { createSlots } from '../slots/slots.ts';
import { createAdoption, type WaitingOrder } from './adoption.ts';

const LOOK_MS = 5_000;
const orderOf = (task: number): RunEffect => orderFor(effectOf({ task: TaskId.parse(`t-${String(task)}`) }));

/** No start of a former owner is left. */
const idleParts = { journal: 'journal-1', findStarts: () => Promise.resolve([]) };

/** Executors on one ledger in memory. Capabilities are missing, so that a started effect ends at once. */
const ledger = () => {
  const clock = stillClock(NOW);
  const { tables, ...memory } = createMemoryStore(clock.now);
  const counts = { transactions: 0, looks: 0 };
  const counted = <R>(result: R): R => {
    counts.transactions += 1;
    return result;
  };
  const store: Store = {
    ...memory,
    lock: (...args) => counted(memory.lock(...args)),
    assume: (...args) => counted(memory.assume(...args)),
    lockDue: (limit) => counted(memory.lockDue(limit)),
  };
  const still: Clock = { now: clock.now, after: () => () => undefined, every: () => () => undefined };
  const waiting = (): readonly WaitingOrder[] =>
    [...tables.heads.values()]
      .filter(({ status }) => status === 'prepared')
      .map(({ aggregate }, createdAt) => ({ id: EffectId.parse(aggregate), createdAt }));

  const executor = (name: string, places: number) => {
    const slots = createSlots({ worker: name }, places);
    const runner = createRunner({
      capabilities: new Map(),
      slots,
      clock: still,
      journalStart: () => Promise.resolve(),
      log: silentLogger(),
    });
    const bindings = executorBindings({ slots, runner, pools: ['default'] });
    const engine: Engine<ToEffect> & { readonly idle: () => Promise<void> } = createEngine({
      service: 'executor',
      kinds: executorKinds(decider),
      store,
      publisher: { publish: () => Promise.resolve(true) },
      perform: (work) => bindings.perform?.(work, accept),
      observer: {
        committed: () => undefined,
        batchFailed: (_, error) => expect.unreachable(String(error)),
        timerFailed: (_aggregate, _name, error) => expect.unreachable(String(error)),
        publishUnconfirmed: () => undefined,
        callbackFailed: (error) => expect.unreachable(String(error)),
      },
      batchMax: 100,
      cacheMax: 10,
    });
    const accept: NonNullable<Parameters<NonNullable<typeof bindings.perform>>[1]> = (routed) =>
      engine.accept(routed, {
        committed: () => routed.onDone?.(),
        failed: ({ code }) => expect.unreachable(code),
        unavailable: () => expect.unreachable('the store is there'),
      });
    const adoption = createAdoption(engine, {
      find: (after, limit) => {
        counts.looks += 1;
        const left = waiting().filter(({ createdAt }) => createdAt > (after?.createdAt ?? -1));
        return Promise.resolve(left.slice(0, limit));
      },
      ...idleParts,
      isQueued: runner.isQueued,
      clock: still,
      lookMs: LOOK_MS,
      log: silentLogger(),
    });
    return {
      slots,
      adoption,
      idle: engine.idle,
      /** An order arrives over the bus. */
      order: async (task: number): Promise<void> => {
        const routed = bindings.inbound[0]?.decode('hp.cmd.effect.run.default', orderOf(task), {
          identity: `m-${String(task)}`,
        });
        if (routed !== undefined) accept(routed);
        await engine.idle();
      },
      /** The periodic jobs of some seconds. */
      pass: async (ms: number): Promise<void> => {
        for (let passed = 0; passed < ms; passed += 1_000) {
          clock.advance(1_000);
          engine.tick();
          await adoption.look();
          await engine.idle();
        }
      },
    };
  };
  const started = (): readonly string[] =>
    [...tables.events].flatMap(([id, events]) =>
      events.some((event) => (event as { type: string }).type === 'started') ? [id] : [],
    );
  return { executor, counts, tables, started };
};

test('orders that wait for a slot cause no transactions, and the oldest starts when a slot is free', async () => {
  const { executor, counts, tables, started } = ledger();
  const { slots, adoption, order, pass, idle } = executor('one', 1);
  adoption.open();
  const taken = slots.take(orderOf(0));
  for (let task = 1; task <= 200; task += 1) await order(task);
  expect([tables.timers.size, slots.waiting()]).toEqual([0, 200]);
  const before = counts.transactions;
  await pass(600_000);
  expect(counts.transactions).toBe(before);
  expect(counts.looks).toBe(600_000 / LOOK_MS);
  slots.close();
  slots.free(taken?.slot ?? 0);
  slots.open();
  await idle();
  expect(started()[0]).toBe(orderOf(1).id);
  expect(counts.transactions).toBeGreaterThan(before);
});

test('an executor takes orders that wait in one that is gone', async () => {
  const { executor, counts, started } = ledger();
  const gone = executor('gone', 1);
  gone.slots.close();
  for (let task = 1; task <= 3; task += 1) await gone.order(task);
  expect([started(), counts.looks]).toEqual([[], 0]);
  const other = executor('other', 3);
  await other.pass(60_000);
  expect(started()).toEqual([]);
  other.adoption.open();
  await other.pass(1_000);
  expect(started()).toEqual([1, 2, 3].map((task) => orderOf(task).id));
});

test('an executor without a free slot queues the orders of another one once', async () => {
  const { executor, counts } = ledger();
  const [one, other] = [executor('one', 1), executor('other', 1)];
  for (const { slots } of [one, other]) slots.take(orderOf(0));
  for (let task = 1; task <= 1_200; task += 1) await one.order(task);
  other.adoption.open();
  await other.pass(1_000);
  expect(other.slots.waiting()).toBe(1_200);
  // A look at 1,200 orders takes two pages.
  expect(counts.looks).toBe(2);
  const before = counts.transactions;
  await other.pass(5_000);
  expect(counts.looks).toBe(2);
  await other.pass(1_000);
  expect([counts.looks, counts.transactions]).toEqual([4, before]);
});

test('looks at tens of thousands of waiting orders take place once a minute', async () => {
  const clock = stillClock();
  const { id } = orderOf(0);
  const all = Array.from({ length: 30_000 }, (_, createdAt) => ({ id, createdAt }));
  let looks = 0;
  const adoption = createAdoption(
    { accept: () => expect.unreachable('all are queued') },
    {
      find: (after, limit) => {
        if (after === undefined) looks += 1;
        const from = (after?.createdAt ?? -1) + 1;
        return Promise.resolve(all.slice(from, from + limit));
      },
      ...idleParts,
      isQueued: () => true,
      clock: { now: clock.now, after: () => () => undefined, every: () => () => undefined },
      lookMs: LOOK_MS,
      log: silentLogger(),
    },
  );
  adoption.open();
  for (let second = 0; second < 600; second += 1) {
    await adoption.look();
    clock.advance(1_000);
  }
  expect(looks).toBe(10);
});

test('the next look is due at once when starts are enabled again during a look', async () => {
  const found: ((orders: readonly WaitingOrder[]) => void)[] = [];
  const adoption = createAdoption(
    { accept: () => expect.unreachable('no order waits') },
    {
      find: () => new Promise((resolve) => void found.push(resolve)),
      ...idleParts,
      isQueued: () => false,
      clock: { now: () => 0, after: () => () => undefined, every: () => () => undefined },
      lookMs: LOOK_MS,
      log: silentLogger(),
    },
  );
  adoption.open();
  const looking = adoption.look();
  adoption.close();
  adoption.open();
  found[0]?.([]);
  await looking;
  const next = adoption.look();
  expect(found).toHaveLength(2);
  found[1]?.([]);
  await next;
  await adoption.look();
  expect(found).toHaveLength(2);
});

test('a stopping executor takes no orders', async () => {
  const { executor, counts } = ledger();
  const { adoption, pass } = executor('one', 1);
  adoption.open();
  adoption.drain();
  adoption.open();
  await pass(60_000);
  expect(counts.looks).toBe(0);
});

test('the starts under way are put to the decider with the journal of the executor', async () => {
  const asked: unknown[] = [];
  const { id } = orderOf(1);
  const adoption = createAdoption(
    {
      accept: (routed, { committed, failed, unavailable }) => {
        asked.push(routed);
        if (asked.length === 1) committed(undefined);
        else if (asked.length === 2) unavailable();
        else failed({ code: 'RUNTIME_POISON', message: 'x' }, new Error('x'));
      },
    },
    {
      ...idleParts,
      find: () => Promise.resolve([]),
      findStarts: () => Promise.resolve([1, 3, 5].map((epoch) => ({ id, epoch }))),
      isQueued: () => false,
      clock: { now: () => 0, after: () => () => undefined, every: () => () => undefined },
      lookMs: LOOK_MS,
      log: silentLogger(),
    },
  );
  // A start that the store does not end now ends with its lease.
  await adoption.endFormerStarts();
  expect(asked).toEqual(
    [1, 3, 5].map((epoch) => ({
      kind: 'effect',
      aggregate: id,
      message: { kind: 'abandoned', epoch, journal: 'journal-1' },
    })),
  );
});
