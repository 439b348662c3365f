import { join } from 'node:path';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Instance } from '../../effect/reconciliation.ts';
import { orderFor } from '../../../testing/orders.ts';
import { scratchFolder } from '../../../testing/scratch.ts';
import { type HeldJournal, journalsIn } from '../journal/journal-folder.ts';
import type { JournalEntry } from '../journal/segments.ts';
import { createSlots } from '../slots/slots.ts';
import { createReconciler, type Reconciler } from './reconciler.ts';
import type { ExecutorRegistry } from './executor-registry.ts';

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
let journal: HeldJournal;
let reconciler: Reconciler | undefined;
type Line = { readonly level: 'warn' | 'error'; readonly reason?: string };
let lines: Line[];
const log = silentLogger();
for (const level of ['warn', 'error'] as const)
  vi.spyOn(log, level).mockImplementation(
    (fields: unknown) => void lines.push({ level, ...(fields as object) }),
  );
const base = (): string => join(scratch.path, 'journal');
const retention = { keepMs: 1e9, maxBytes: 1e9 };

beforeEach(async () => {
  scratch = await scratchFolder();
  lines = [];
  journal = await journalsIn(base(), retention, log).take();
});
afterEach(async () => {
  await reconciler?.stop();
  await journal.release();
  await scratch.remove();
});

/** The ledger's tables, in memory. */
const ledger = (instances: Record<string, Instance> = {}) => {
  const state = {
    generation: 1,
    same: true,
    lineage: 'a server',
    written: 100n,
    began: 100n,
    instances: new Map(Object.entries(instances)),
  };
  const standings: ExecutorRegistry = {
    read: () => Promise.resolve({ ...state, instances: new Map(state.instances) }),
    openGeneration: () =>
      Promise.resolve(void Object.assign(state, { generation: state.generation + 1, same: true })),
    register: (ids) => {
      for (const id of ids)
        state.instances.set(id, { position: 0, reconciled: -1, forgotten: false, seen: '', missing: false });
      return Promise.resolve();
    },
    confirm: (id, reconciled, position) =>
      Promise.resolve(
        void state.instances.set(id, { position, reconciled, forgotten: false, seen: '', missing: false }),
      ),
    carryOver: (ids, reconciled) => {
      for (const [id, each] of state.instances)
        if (ids.includes(id)) state.instances.set(id, { ...each, reconciled });
      return Promise.resolve();
    },
    reportSeen: () => Promise.resolve(),
  };
  return { state, standings };
};

const start = (
  standings: ExecutorRegistry,
  tell: (entry: JournalEntry) => Promise<void> = () => Promise.resolve(),
  known: Promise<void> = Promise.resolve(),
  beforeFirst: () => Promise<void> = () => Promise.resolve(),
) => {
  const slots = createSlots({ worker: 'worker-1' }, 1);
  const vouched: (number | undefined)[] = [];
  const gate = {
    trust: (generation: number | undefined) => void vouched.push(generation),
    onRefusal: () => undefined,
  };
  const started = createReconciler({
    journal,
    journals: journalsIn(base(), retention, log),
    registry: standings,
    fence: gate,
    slots: slots,
    report: tell,
    beforeFirst,
    ready: known,
    log,
  });
  reconciler = started;
  return { slots, vouched, started };
};
const opens = (slots: { areOpen: () => boolean }, started: Reconciler) =>
  vi.waitFor(() => expect([slots.areOpen(), started.isOpen()]).toEqual([true, true]));
const order = orderFor();

test('a new executor with a new ledger may start at once, and is registered', async () => {
  const { state, standings } = ledger();
  const { slots, started } = start(standings);
  await opens(slots, started);
  expect([...state.instances]).toEqual([
    [journal.id, { position: 0, reconciled: 1, forgotten: false, seen: '', missing: false }],
  ]);
});

test('no effect starts before the reconciler is ready', async () => {
  const { state, standings } = ledger();
  const known = Promise.withResolvers<void>();
  const { slots, started } = start(standings, undefined, known.promise);
  started.refused();
  await new Promise((resolve) => setImmediate(resolve));
  expect([slots.areOpen(), started.isOpen(), state.instances.size]).toEqual([false, false, 0]);
  known.resolve();
  await opens(slots, started);
});

test('a reconciler that was never ready stops at once, without a pass', async () => {
  const { state, standings } = ledger();
  const { started } = start(standings, undefined, new Promise(() => undefined));
  await started.stop();
  expect([started.isOpen(), state.instances.size]).toEqual([false, 0]);
});

test('the work before the first effect takes place once, while no effect may start', async () => {
  const { standings } = ledger();
  const seen: boolean[] = [];
  const { slots, started } = start(standings, undefined, undefined, () => {
    seen.push(slots.areOpen());
    return seen.length === 1 ? Promise.reject(new Error('the ledger is away')) : Promise.resolve();
  });
  await vi.waitFor(() => expect(seen).toEqual([false]));
  started.refused();
  await opens(slots, started);
  started.refused();
  await opens(slots, started);
  expect(seen).toEqual([false, false]);
});

describe('the database was restored', () => {
  test('only the lost starts are reported, and before any effect starts', async () => {
    for (const position of [1, 2, 3]) await journal.append(order, position, position);
    const { state, standings } = ledger({
      [journal.id]: { position: 1, reconciled: 1, forgotten: false, seen: '', missing: false },
    });
    state.same = false;
    const told: number[] = [];
    const { slots, vouched, started } = start(standings, ({ position }) => {
      expect(started.isOpen()).toBe(false);
      told.push(position);
      return Promise.resolve();
    });
    await opens(slots, started);
    expect(told).toEqual([2, 3]);
    expect(vouched).toEqual([undefined, 2]);
    expect(state.instances.get(journal.id)).toMatchObject({ position: 3, reconciled: 2 });
  });

  test('no effect starts until the ledger accepts the lost starts', async () => {
    await journal.append(order, 1, 1);
    const { standings } = ledger();
    let refusals = 2;
    const { slots, started } = start(standings, () =>
      refusals-- > 0 ? Promise.reject(new Error('away')) : Promise.resolve(),
    );
    await vi.waitFor(() => expect(lines.some(({ reason }) => reason === 'away')).toBe(true));
    expect(started.isOpen()).toBe(false);
    started.refused();
    started.refused();
    await vi.waitFor(() => expect(refusals).toBeLessThan(0), 5_000);
    await opens(slots, started);
  });
});

test('a journal that does not reach back to the backup waits for an operator, and is logged once', async () => {
  const small = await journalsIn(
    join(scratch.path, 'small'),
    { keepMs: 1e9, maxBytes: 1, segmentBytes: 1 },
    log,
  ).take();
  await journal.release();
  journal = small;
  for (const position of [1, 2, 3]) await journal.append(order, position, position);
  const { state, standings } = ledger({
    [journal.id]: { position: 1, reconciled: 0, forgotten: false, seen: '', missing: false },
  });
  const told: number[] = [];
  const { slots, started } = start(standings, ({ position }) => Promise.resolve(void told.push(position)));
  const complaints = (): readonly unknown[] => lines.filter(({ level }) => level === 'error');
  await vi.waitFor(() => expect(complaints()).toHaveLength(1));
  started.refused();
  await vi.waitFor(() => expect(slots.areOpen()).toBe(false));
  expect({ told, complaints: complaints().length }).toEqual({ told: [], complaints: 1 });

  state.instances.set(journal.id, { position: 1, reconciled: 0, forgotten: true, seen: '', missing: false });
  started.refused();
  await opens(slots, started);
  expect(told).toEqual([3]);
});

test('journals of dead executors on this machine are reported and released as well', async () => {
  const journals = journalsIn(base(), retention, log);
  const gone = await journals.take();
  await gone.append(order, 1, 1);
  await gone.release();
  const { state, standings } = ledger({
    [gone.id]: { position: 0, reconciled: 0, forgotten: false, seen: '', missing: false },
  });
  const told: number[] = [];
  const { slots, started } = start(standings, ({ position }) => Promise.resolve(void told.push(position)));
  await opens(slots, started);
  expect(told).toEqual([1]);
  expect(state.instances.get(gone.id)).toEqual({
    position: 1,
    reconciled: 1,
    forgotten: false,
    seen: '',
    missing: false,
  });
  await reconciler?.stop();
  const [again] = await journals.takeLeft();
  expect(again?.id).toBe(gone.id);
  await again?.release();
});

test('after a plain restart no executor waits for one that was missing before, and after a restore it does', async () => {
  const gone = { position: 3, reconciled: 1, forgotten: false, seen: 'then', missing: true };
  const { state, standings } = ledger({ gone });
  const { slots, started } = start(standings);
  await opens(slots, started);
  Object.assign(state, { same: false, began: 150n, written: 150n });
  started.refused();
  await vi.waitFor(() => expect([state.generation, started.isOpen()]).toEqual([2, true]));
  expect(started.waitsFor()).toEqual([]);
  Object.assign(state, { same: false, began: 120n, written: 151n });
  started.refused();
  await vi.waitFor(() => expect(started.waitsFor()).toEqual(['gone']));
  expect(slots.areOpen()).toBe(false);
});
