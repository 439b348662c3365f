import { describe, expect, test } from 'vitest';
import type { LedgerRecord } from './ledger.ts';
import { createMemory, type Incoming, type Verdict } from './memory.ts';

const digest = 'a'.repeat(64);
const at = (ms: number) => ({ at: new Date(ms).toISOString(), mono: String(ms) });
const request = (change: Partial<Incoming> = {}): Incoming => ({
  n: 1,
  flavour: 'keyed',
  path: '/keyed/a',
  key: 'k',
  epoch: null,
  digest,
  ...change,
});
const applied = (change: Partial<Incoming> = {}, ms = 0): LedgerRecord => ({
  type: 'applied',
  ...at(ms),
  ...request(change),
});

const judged = (
  before: readonly LedgerRecord[],
  asked: Incoming,
  now = 1_000,
  windowMs = Infinity,
): Verdict => {
  const memory = createMemory(windowMs);
  for (const record of before) memory.note(record);
  return memory.judge(asked, now);
};
const APPLIES: Verdict = { type: 'applied' };
const refuses = (status: number): Verdict => ({ type: 'refused', status });

describe('a keyed target', () => {
  test('a keyed target applies a key once and remembers its answer', () => {
    expect(judged([], request())).toEqual(APPLIES);
    expect(judged([applied()], request({ n: 2 }))).toEqual({ type: 'repeated', key: 'k', of: 1 });
    expect(judged([applied()], request({ n: 2, key: 'other' }))).toEqual(APPLIES);
  });

  test('a keyed target treats a request without key as new', () => {
    expect(judged([applied({ key: null })], request({ n: 2, key: null }))).toEqual(APPLIES);
  });

  test('a keyed target forgets a key after its window', () => {
    expect(judged([applied({}, 500)], request({ n: 2 }), 1_499, 1_000)).toMatchObject({ type: 'repeated' });
    expect(judged([applied({}, 500)], request({ n: 2 }), 1_500, 1_000)).toEqual(APPLIES);
  });

  test('keyed targets do not share keys', () => {
    expect(judged([applied({ flavour: 'opaque' })], request({ n: 2 }))).toEqual(APPLIES);
  });
});

test.each(['opaque', 'idempotent', 'probeable'] as const)('an %s target applies every request', (flavour) => {
  expect(judged([applied({ flavour })], request({ flavour, n: 2 }))).toEqual(APPLIES);
});

describe('a fenced target', () => {
  const fenced = (epoch: number | null, change: Partial<Incoming> = {}): Incoming =>
    request({ flavour: 'fenced', n: 2, epoch, ...change });
  const probed: LedgerRecord = {
    type: 'probed',
    ...at(0),
    n: 1,
    flavour: 'fenced',
    key: 'k',
    epoch: 5,
    applied: false,
  };

  test('a fenced target applies a request with key and epoch', () => {
    expect(judged([], fenced(1))).toEqual(APPLIES);
    expect(judged([], fenced(null))).toEqual(refuses(400));
    expect(judged([], fenced(1, { key: null }))).toEqual(refuses(400));
  });

  test('a fenced target refuses epochs below its fence', () => {
    expect(judged([probed], fenced(4))).toEqual(refuses(412));
    expect(judged([probed], fenced(5))).toEqual(APPLIES);
  });

  test('a fenced target applies a key once at any epoch', () => {
    expect(judged([applied({ flavour: 'fenced', epoch: 1 })], fenced(9))).toEqual(refuses(412));
  });

  test('a fence applies only to its own key', () => {
    const busy: LedgerRecord = {
      type: 'refused',
      ...at(0),
      n: 1,
      flavour: 'fenced',
      key: 'k',
      epoch: 7,
      status: 503,
    };
    expect(judged([busy], fenced(6))).toEqual(APPLIES);
  });
});
