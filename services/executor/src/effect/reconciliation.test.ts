import { describe, expect, test } from 'vitest';
import {
  type Instance,
  type JournalPositions,
  nextStep,
  type LedgerStatus,
  restartedWithout,
} from './reconciliation.ts';

const instance = (change: Partial<Instance> = {}): Instance => ({
  position: 5,
  reconciled: 3,
  forgotten: false,
  seen: 'then',
  missing: false,
  ...change,
});
const standing = (
  instances: Readonly<Record<string, Instance>>,
  change: Partial<LedgerStatus> = {},
): LedgerStatus => ({
  generation: 3,
  same: true,
  lineage: 'a server',
  written: 100n,
  began: 100n,
  instances: new Map(Object.entries(instances)),
  ...change,
});
const known = (
  journals: Readonly<Record<string, number>>,
  seen: Readonly<Record<string, number>> = {},
): JournalPositions => ({ journals: new Map(Object.entries(journals)), seen: new Map(Object.entries(seen)) });

describe('effects may start', () => {
  test('effects may start when all executors have compared this generation', () => {
    expect(nextStep(standing({ a: instance(), b: instance() }), known({ a: 5 }, { a: 4, b: 5 }))).toEqual({
      kind: 'open',
    });
  });

  test('effects may start when the missing executors are forgotten', () => {
    const others = { a: instance(), b: instance({ reconciled: 2, forgotten: true }) };
    expect(nextStep(standing(others), known({ a: 5 }))).toEqual({ kind: 'open' });
  });

  test('effects may start when the ledger is ahead of the journal', () => {
    expect(nextStep(standing({ a: instance({ position: 9 }) }), known({ a: 5 }))).toEqual({ kind: 'open' });
  });
});

describe('a new generation is opened', () => {
  test.each([
    ['the database is another one', standing({ a: instance() }, { same: false }), known({ a: 5 })],
    ['the ledger is behind the journal', standing({ a: instance({ position: 4 }) }), known({ a: 5 })],
    [
      'another executor has less than before',
      standing({ a: instance(), b: instance({ position: 4 }) }),
      known({ a: 5 }, { b: 5 }),
    ],
    ['a known executor is missing', standing({ a: instance() }), known({ a: 5 }, { b: 0 })],
  ])('a new generation is opened when %s', (_when, now, knows) => {
    expect(nextStep(now, knows)).toEqual({ kind: 'open_generation' });
  });
});

describe('a journal is replayed', () => {
  test("a journal is replayed from the ledger's position in every new generation", () => {
    expect(nextStep(standing({ a: instance({ reconciled: 2, position: 4 }) }), known({ a: 9 }))).toEqual({
      kind: 'replay',
      register: [],
      journals: [{ id: 'a', after: 4, partial: false }],
    });
  });

  test('an unknown journal is replayed whole and registered', () => {
    expect(nextStep(standing({}), known({ a: 9 }))).toEqual({
      kind: 'replay',
      register: ['a'],
      journals: [{ id: 'a', after: 0, partial: false }],
    });
  });

  test('an empty journal is not registered', () => {
    expect(nextStep(standing({ b: instance() }), known({ a: 0 }))).toMatchObject({
      kind: 'replay',
      register: [],
    });
  });

  test('a known executor that this ledger lacks is registered', () => {
    const step = nextStep(standing({ a: instance({ reconciled: 2 }) }), known({ a: 5 }, { a: 5, b: 2 }));
    expect(step).toMatchObject({ kind: 'replay', register: ['b'] });
  });

  test('a forgotten journal is replayed as far as possible', () => {
    const step = nextStep(standing({ a: instance({ forgotten: true }) }), known({ a: 9 }));
    expect(step).toMatchObject({ journals: [{ id: 'a', after: 5, partial: true }] });
  });

  test('leftover journals of this machine are replayed as well', () => {
    const rows = {
      a: instance({ reconciled: 2 }),
      b: instance({ reconciled: 2 }),
      c: instance({ reconciled: 2 }),
    };
    const step = nextStep(standing(rows), known({ a: 5, b: 7 }));
    expect(step).toMatchObject({ journals: [{ id: 'a' }, { id: 'b' }] });
  });
});

test('an executor that has compared its journal waits for the others', () => {
  const rows = { a: instance(), b: instance({ reconciled: 2 }), c: instance({ reconciled: -1 }) };
  expect(nextStep(standing(rows), known({ a: 5 }))).toEqual({ kind: 'wait', waitsFor: ['b', 'c'] });
});

describe('a plain restart of the database', () => {
  const gone = instance({ reconciled: 2, missing: true });
  const before = standing({ a: instance(), b: gone });
  const after = (change: Partial<LedgerStatus> = {}, b: Partial<Instance> = {}): LedgerStatus =>
    standing({ a: instance(), b: { ...gone, ...b } }, { began: 120n, ...change });

  test('a missing executor is not awaited when the log begins where it was read, or later', () => {
    expect(restartedWithout(after(), before, ['b'])).toEqual(['b']);
    expect(restartedWithout(after({ began: 100n }), before, ['b'])).toEqual(['b']);
  });

  test.each<[string, LedgerStatus, LedgerStatus | undefined]>([
    ['the log begins before what was read', after({ began: 99n }), before],
    ['nothing says where the log begins', after({ began: 0n }), before],
    ['another copy of the data runs', after({ lineage: 'its copy' }), before],
    ['this executor has not seen the ledger before', after(), undefined],
    ['the other one was there a moment ago', after(), standing({ b: { ...gone, missing: false } })],
    ['the other one has been seen since', after({}, { seen: 'now' }), before],
    ['the ledger has lost starts of the other one', after({}, { position: 4 }), before],
  ])('a missing executor is awaited when %s', (_, status, known) => {
    expect(restartedWithout(status, known, ['b'])).toEqual([]);
  });
});
