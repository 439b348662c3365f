import { expect, test } from 'vitest';
import { applicationsByKey, heldStill, type LedgerRecord, parseLedger, requestsByKey } from './ledger.ts';

const stamp = { at: '2026-01-01T00:00:00.000Z', mono: '1' } as const;
const digest = 'a'.repeat(64);

const requested = (n: number, key: string | null): LedgerRecord => ({
  type: 'request',
  ...stamp,
  n,
  flavour: 'opaque',
  method: 'POST',
  path: '/opaque/a',
  key,
  epoch: null,
  digest,
  bytes: 1,
  arrival: 1,
  mode: 'normal',
});
const applied = (n: number, key: string | null): LedgerRecord => ({
  type: 'applied',
  ...stamp,
  n,
  flavour: 'opaque',
  path: '/opaque/a',
  key,
  epoch: null,
  digest,
});
const held = (n: number, key: string): LedgerRecord => ({ type: 'held', ...stamp, n, key, until: stamp.at });

const records = [
  requested(1, 'a'),
  applied(1, 'a'),
  requested(2, 'b'),
  held(2, 'b'),
  requested(3, 'a'),
  held(3, 'a'),
  applied(3, 'a'),
  requested(4, null),
  applied(4, null),
];
const text = records.map((record) => `${JSON.stringify(record)}\n`).join('');

test('a ledger reads back its records', () => {
  expect(parseLedger(text)).toEqual(records);
});

test('a ledger skips a last line without an end', () => {
  expect(parseLedger(text.slice(0, -1))).toEqual(records.slice(0, -1));
});

test('an invalid ledger line is an error', () => {
  expect(() => parseLedger(`${text}{"type":"other"}\n`)).toThrow(/type/);
  expect(() => parseLedger(`cut off${text}`)).toThrow(SyntaxError);
});

test('applications and requests are grouped by key', () => {
  const numbers = (found: ReadonlyMap<string, readonly { readonly n: number }[]>) =>
    Object.fromEntries([...found].map(([key, all]) => [key, all.map(({ n }) => n)]));
  expect(numbers(applicationsByKey(records))).toEqual({ a: [1, 3] });
  expect(numbers(requestsByKey(records))).toEqual({ a: [1, 3], b: [2] });
});

test('delayed requests without an outcome are listed', () => {
  expect(heldStill(records).map(({ n }) => n)).toEqual([2]);
});
