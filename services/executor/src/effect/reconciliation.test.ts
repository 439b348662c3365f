import { describe, expect, test } from 'vitest';
import { type Instance, type JournalPositions, nextStep, type LedgerStatus } from './reconciliation.ts';

const instance = (change: Partial<Instance> = {}): Instance => ({
  position: 5,
  reconciled: 3,
  forgotten: false,
  ...change,
});
const standing = (
  instances: Readonly<Record<string, Instance>>,
  change: Partial<LedgerStatus> = {},
): LedgerStatus => ({ generation: 3, same: true, instances: new Map(Object.entries(instances)), ...change });
const known = (
  journals: Readonly<Record<string, number>>,
  seen: Readonly<Record<string, number>> = {},
): JournalPositions => ({ journals: new Map(Object.entries(journals)), seen: new Map(Object.entries(seen)) });

describe('effects may start', () => {
  test('when everybody has compared the journal with this generation', () => {
    expect(nextStep(standing({ a: instance(), b: instance() }), known({ a: 5 }, { a: 4, b: 5 }))).toEqual({
      kind: 'open',
    });
  });

  test('when whoever has not is forgotten', () => {
    const others = { a: instance(), b: instance({ reconciled: 2, forgotten: true }) };
    expect(nextStep(standing(others), known({ a: 5 }))).toEqual({ kind: 'open' });
  });

  test('when the ledger is ahead of the journal: a start was committed, and its answer was lost', () => {
    expect(nextStep(standing({ a: instance({ position: 9 }) }), known({ a: 5 }))).toEqual({ kind: 'open' });
  });
});

describe('a new generation is opened', () => {
  test.each([
    ['when the database is another', standing({ a: instance() }, { same: false }), known({ a: 5 })],
    ['when the ledger is behind the journal', standing({ a: instance({ position: 4 }) }), known({ a: 5 })],
    [
      'when somebody else has less than was seen of it',
      standing({ a: instance(), b: instance({ position: 4 }) }),
      known({ a: 5 }, { b: 5 }),
    ],
    ['when somebody who was seen is not there', standing({ a: instance() }), known({ a: 5 }, { b: 0 })],
  ])('%s', (_when, now, knows) => {
    expect(nextStep(now, knows)).toEqual({ kind: 'open_generation' });
  });
});

describe('a journal is brought', () => {
  test('from where the ledger ends, in every new generation', () => {
    expect(nextStep(standing({ a: instance({ reconciled: 2, position: 4 }) }), known({ a: 9 }))).toEqual({
      kind: 'replay',
      register: [],
      journals: [{ id: 'a', after: 4, partial: false }],
    });
  });

  test('whole, when the ledger does not know it; and everybody waits for it from then on', () => {
    expect(nextStep(standing({}), known({ a: 9 }))).toEqual({
      kind: 'replay',
      register: ['a'],
      journals: [{ id: 'a', after: 0, partial: false }],
    });
  });

  test('without anybody having to wait, when nothing stands in it', () => {
    expect(nextStep(standing({ b: instance() }), known({ a: 0 }))).toMatchObject({
      kind: 'replay',
      register: [],
    });
  });

  test('of whoever was seen before it is waited for, though this ledger does not know it', () => {
    const step = nextStep(standing({ a: instance({ reconciled: 2 }) }), known({ a: 5 }, { a: 5, b: 2 }));
    expect(step).toMatchObject({ kind: 'replay', register: ['b'] });
  });

  test('as far as it goes, when somebody gave it up', () => {
    const step = nextStep(standing({ a: instance({ forgotten: true }) }), known({ a: 9 }));
    expect(step).toMatchObject({ journals: [{ id: 'a', after: 5, partial: true }] });
  });

  test('together with those that were left on this machine', () => {
    const rows = {
      a: instance({ reconciled: 2 }),
      b: instance({ reconciled: 2 }),
      c: instance({ reconciled: 2 }),
    };
    const step = nextStep(standing(rows), known({ a: 5, b: 7 }));
    expect(step).toMatchObject({ journals: [{ id: 'a' }, { id: 'b' }] });
  });
});

test('whoever has compared its own waits for those that have not', () => {
  const rows = { a: instance(), b: instance({ reconciled: 2 }), c: instance({ reconciled: -1 }) };
  expect(nextStep(standing(rows), known({ a: 5 }))).toEqual({ kind: 'wait', waitsFor: ['b', 'c'] });
});
