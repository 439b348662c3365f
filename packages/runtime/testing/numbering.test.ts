import { canonicalJson } from '@holdpoint/contracts/values/json';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createNumbering } from './numbering.ts';

test('two values have one number exactly when they are the same canonical JSON', () => {
  const value = fc.jsonValue({ maxDepth: 3 }).map((json) => ({ json }));
  fc.assert(
    fc.property(fc.array(value, { maxLength: 8 }), (values) => {
      const numberOf = createNumbering();
      const all = [...values, ...structuredClone(values)];
      for (const one of all) {
        for (const other of all)
          expect(numberOf(one) === numberOf(other)).toBe(canonicalJson(one) === canonicalJson(other));
      }
    }),
  );
});

test('values with similar text get different numbers', () => {
  const numberOf = createNumbering();
  const values = [
    {},
    [],
    { a: '1' },
    { a: 1 },
    { a: '#0' },
    { a: {} },
    ['a', 'b'],
    ['a,b'],
    { 'a":1,"b': 2 },
    { a: 1, b: 2 },
  ];
  expect(new Set(values.map(numberOf)).size).toBe(values.length);
});

test('the order of keys and undefined fields do not matter', () => {
  const numberOf = createNumbering();
  expect(numberOf({ a: 1, b: 2 })).toBe(numberOf({ b: 2, c: undefined, a: 1 }));
});

test.each([
  [{ a: 1n }],
  [{ a: () => 1 }],
  [{ a: new Map() }],
  [{ a: Number.NaN }],
  [new Date(0)],
  [[undefined]],
])('a value that JSON cannot hold is refused: %s', (value) => {
  expect(() => createNumbering()(value)).toThrow(TypeError);
});
