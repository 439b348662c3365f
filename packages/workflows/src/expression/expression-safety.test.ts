import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkExpression, evaluateExpression, ExpressionError, renderText } from './expression.ts';

/** The value or the error message. Any other error fails the test. */
const outcome = (text: string, scope: JsonObject): Json => {
  try {
    return { value: evaluateExpression(text, scope) };
  } catch (error) {
    if (error instanceof ExpressionError) return { said: error.message };
    throw error;
  }
};

const HOST = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  '__defineGetter__',
];
const GLOBALS = [
  'globalThis',
  'process',
  'require',
  'Function',
  'eval',
  'self',
  'window',
  'module',
  'undefined',
];

const plain = (value: unknown): boolean => {
  if (typeof value === 'function' || typeof value === 'symbol' || value === undefined) return false;
  if (typeof value !== 'object' || value === null) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  const ordinary = prototype === Object.prototype || prototype === Array.prototype;
  return ordinary && Object.values(value).every(plain);
};

describe('access to the host', () => {
  test('no value exposes inherited members', () => {
    const scope: JsonObject = { o: { a: 1 }, l: [1], s: 'text', n: 1, b: true, z: null };
    for (const of of ['o', 'l', 's', 'n', 'b', 'z', 'o.a', '{}', '[]', `''`]) {
      for (const name of HOST) {
        expect(evaluateExpression(`(${of})['${name}']`, scope)).toBeNull();
        expect(evaluateExpression(`(${of}).${name}.${name}`, scope)).toBeNull();
        expect(evaluateExpression(`[${of}] | map(attribute='${name}.${name}')`, scope)).toEqual([null]);
        expect(checkExpression(`(${of}).${name}('return process')()`)).toBeDefined();
      }
    }
  });

  test('no name reaches globals or inherited members of the scope', () => {
    for (const name of [...HOST, ...GLOBALS]) {
      expect(outcome(name, { a: 1 })).toHaveProperty('said', expect.stringContaining('there is no'));
    }
  });

  test('a key called __proto__ is an ordinary key', () => {
    const data = JSON.parse('{"o":{"__proto__":{"polluted":1}}}') as JsonObject;
    expect(evaluateExpression(`o['__proto__'].polluted`, data)).toBe(1);
    const made = evaluateExpression(`{'__proto__': {'polluted': 1}}`, {});
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
    expect(Object.keys(made as JsonObject)).toEqual(['__proto__']);
    expect(evaluateExpression('{}.polluted', {})).toBeNull();
  });
});

describe('limits', () => {
  const long = 'a'.repeat(60_000);
  const many: Json[] = Array.from({ length: 60_000 }, (_, at) => at);
  const scope: JsonObject = { long, many, texts: many.map(String), deep: { many } };

  test.each([
    ['a text twice as long', 'long ~ long'],
    ['every letter replaced by a text', `long | replace('a', long)`],
    ['every letter replaced by two', `long | replace('a', 'bb')`],
    ['a text between all letters', 'long | list | join(long)'],
    ['a list twice as long', 'many + many'],
    ['a list of long texts', '[long, long]'],
    ['a JSON text of lists', '[many, many] | tojson'],
    ['a join of many texts', `texts | join(', ')`],
    ['many comparisons of lists', `${'[many] == [many] and '.repeat(60)}true`],
    ['many sorted lists', `${'(many | sort) and '.repeat(100)}true`],
    ['many sorted texts', `${'(texts | sort) and '.repeat(100)}true`],
    ['many JSON texts', `${'(deep | tojson) and '.repeat(90)}true`],
    ['many replacements', `${`(long | replace('aab', 'b')) and `.repeat(55)}true`],
    ['searches that nearly match', `${`('${'a'.repeat(500)}b' in long) or `.repeat(3)}true`],
    ['many splits', `${'long.split("a") and '.repeat(90)}true`],
    ['a long chain of calls', `long${'.upper()'.repeat(120)}`],
    ['many selections', `${'(many | selectattr("a")) or '.repeat(60)}true`],
    ['many keys', `${'deep.keys() and '.repeat(100)}true`],
  ])('%s gives a small result or an error quickly', (_what, text) => {
    expect(checkExpression(text)).toBeUndefined();
    const before = performance.now();
    const result = outcome(text, scope);
    // Far above the normal time, far below that of an unlimited evaluation.
    expect(performance.now() - before).toBeLessThan(5_000);
    expect(JSON.stringify(result).length).toBeLessThan(400_000);
  });

  test('intermediate values obey the size limit', () => {
    for (const text of ['(long ~ long)[0]', '(many + many) | first', `(long | replace('a', 'bb'))[0]`]) {
      expect(outcome(text, scope)).toHaveProperty('said', expect.stringContaining('more than 65536'));
    }
  });

  test('the limits apply to all expressions of a text together', () => {
    expect(() => renderText('{{ long }}{{ long }}', scope)).toThrow(ExpressionError);
    expect(() => renderText('{{ many | sort | length }}'.repeat(500), scope)).toThrow('too many steps');
  });
});

/** Pieces of hostile expressions. */
const pieces = fc.constantFrom(
  'a',
  'b',
  'a.b',
  'inputs',
  '"x"',
  `'}}'`,
  '1',
  '0',
  '-1',
  '2.5',
  'true',
  'none',
  '__proto__',
  'constructor',

  '+',
  '-',
  '*',
  '/',
  '//',
  '%',
  '**',
  '~',
  '==',
  '<',
  'in',
  'not',
  'and',
  'or',
  'is',
  'if',
  'else',
  '|',
  '.',
  ',',

  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  ':',
  '=',
  '{{',
  '}}',
  '{%',
  '%}',
  '{#',
  '#}',
  '\\',
  '"',
  `'`,
  '\n',
  '\u0000',
  '\u{1F600}',

  'length',
  'join',
  'sort',
  'replace',
  'map',
  'range(9)',
  '.upper()',
  '.split()',
  'defined',
  'attribute=',
  `'\\ud83d'`,
  '[0]',
  '[::-1]',
  'tojson',
);
const hostile = fc.oneof(
  fc.array(pieces, { maxLength: 25 }).map((parts) => parts.join(' ')),
  fc.array(pieces, { maxLength: 25 }).map((parts) => parts.join('')),
  fc.string({ maxLength: 80 }),
  fc.string({ unit: 'binary', maxLength: 80 }),
);

describe('arbitrary expressions', () => {
  const scope: JsonObject = { a: { b: [1, 'two', { c: null }] }, b: 'text', inputs: { n: 3 } };

  test('every expression gives plain data or an ExpressionError, deterministically and without changing its scope', () => {
    const before = JSON.stringify(scope);
    fc.assert(
      fc.property(hostile, (text) => {
        const once = outcome(text, scope);
        expect(plain(once)).toBe(true);
        expect(outcome(text, structuredClone(scope))).toEqual(once);
        expect(JSON.stringify(scope)).toBe(before);
      }),
      { numRuns: 5_000 },
    );
  });

  test('the check accepts exactly the expressions that parse', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const refused = checkExpression(text);
        const result = JSON.stringify(outcome(text, scope));
        expect(refused === undefined || result.includes('said')).toBe(true);
        expect(refused === undefined && result.includes('does not parse')).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });

  test('a value passes through an expression unchanged', () => {
    // Delimiters are refused everywhere, also inside a text.
    const keys = fc.string().filter((text) => !/[{}][{%#]|[%#}]\}/.test(text));
    fc.assert(
      fc.property(fc.jsonValue(), keys, (value, key) => {
        const data = Object.fromEntries([[key, value as Json]]);
        expect(
          evaluateExpression(`data[${JSON.stringify(key)}] == data[key] and key in data`, { data, key }),
        ).toBeTypeOf('boolean');
        expect(evaluateExpression('data[key]', { data, key })).toEqual(value);
        expect(evaluateExpression('data == other', { data, other: structuredClone(data) })).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test('a text without expressions is rendered unchanged', () => {
    fc.assert(
      fc.property(
        fc.string().filter((text) => !/\{[{%]/.test(text)),
        (text) => {
          expect(renderText(text, {})).toBe(text);
        },
      ),
    );
  });
});
