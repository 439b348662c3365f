import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, digestOf, Json, JSON_LEVELS_MAX, JsonObject } from './json.ts';

/** Any result of `JSON.parse`. */
const json = fc.json({ maxDepth: 4 }).map((text) => JSON.parse(text) as Json);

const shuffled = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).reverse();
  // Not by assignment: `__proto__` is an ordinary key.
  return Object.fromEntries(entries.map(([key, inner]) => [key, shuffled(inner)]));
};

/** Every path of a value. */
const placesOf = (value: Json): readonly (readonly (string | number)[])[] => {
  if (typeof value !== 'object' || value === null) return [[]];
  const inner = Object.entries(value).flatMap(([key, child]) =>
    placesOf(child).map((path) => [key, ...path]),
  );
  return [[], ...inner];
};

const replaceAt = (value: Json, path: readonly (string | number)[], put: Json): Json => {
  const [key, ...rest] = path;
  if (key === undefined) return put;
  if (Array.isArray(value))
    return value.map((child: Json, i) => (String(i) === String(key) ? replaceAt(child, rest, put) : child));
  return Object.fromEntries(
    Object.entries(value as Record<string, Json>).map(([name, child]) => [
      name,
      name === key ? replaceAt(child, rest, put) : child,
    ]),
  );
};

describe('canonical JSON', () => {
  test('canonical JSON parses to the same value', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test('does not depend on the order of keys', () => {
    fc.assert(fc.property(json, (value) => canonicalJson(shuffled(value)) === canonicalJson(value)));
  });

  test('canonical JSON equals the RFC 8785 examples', () => {
    const value = {
      numbers: [Number('333333333.33333329'), 1e30, 4.5, 2e-3, 1e-27],
      string: '\u20ac$\u000f\nA\'B"\\"/',
      literals: [null, true, false],
    };
    const text =
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\"/"}';
    expect(canonicalJson(value)).toBe(text);
    expect(
      canonicalJson({
        '\u20ac': 1,
        '\r': 2,
        '1': 3,
        '\ud83d\ude00': 4,
        '\u0080': 5,
        '\u00f6': 6,
        '\ufb33': 7,
      }),
    ).toBe('{"\\r":2,"1":3,"\u0080":5,"ö":6,"€":1,"😀":4,"\ufb33":7}');
  });

  test.each([undefined, Number.NaN, Number.POSITIVE_INFINITY, [Number.NaN], 1n, () => 1])(
    'refuses %s',
    (value) => {
      expect(() => canonicalJson(value)).toThrow(Error);
    },
  );
});

describe('a digest', () => {
  test('a digest has 64 lower-case hex digits', () => {
    fc.assert(fc.property(json, (value) => /^[0-9a-f]{64}$/.test(digestOf(value))));
    expect(digestOf({})).toBe('44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a');
  });

  test('does not depend on the order of keys', () => {
    fc.assert(fc.property(json, (value) => digestOf(shuffled(value)) === digestOf(value)));
  });

  test('a digest changes with any change of the value', () => {
    const change = json.chain((value) =>
      fc.tuple(fc.constant(value), fc.constantFrom(...placesOf(value)), fc.oneof(json, fc.constant('other'))),
    );
    fc.assert(
      fc.property(change, ([value, path, put]) => {
        const changed = replaceAt(value, path, put);
        fc.pre(JSON.stringify(sorted(changed)) !== JSON.stringify(sorted(value)));
        expect(digestOf(changed)).not.toBe(digestOf(value));
      }),
    );
  });

  test('a digest distinguishes numbers from texts, null from absence, and lists from each other', () => {
    const values: readonly Json[] = [
      1,
      '1',
      null,
      'null',
      {},
      [],
      [[]],
      { a: null },
      { a: [] },
      { a: {} },
      true,
      'true',
      '',
      [1, 2],
      [2, 1],
      [12],
    ];
    expect(new Set(values.map(digestOf)).size).toBe(values.length);
  });
});

/** Independent reference implementation with sorted keys. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => [key, sorted(inner)]);
};

describe('the schema of any JSON value', () => {
  test('the schema keeps every JSON value unchanged', () => {
    const plain = json.filter((value) => !JSON.stringify(value).includes('__proto__'));
    fc.assert(fc.property(plain, (value) => JSON.stringify(Json.parse(value)) === JSON.stringify(value)));
  });

  test('the schema drops the key __proto__, so that copies of objects stay safe', () => {
    const value = JSON.parse('{"__proto__":{"polluted":true},"kept":{"__proto__":1}}') as unknown;
    expect(JSON.stringify(Json.parse(value))).toBe('{"kept":{}}');
    expect(JSON.stringify(JsonObject.parse(value))).toBe('{"kept":{}}');
  });

  test.each([undefined, () => 1, 1n, Symbol('s'), new Date(0), Number.NaN, { a: undefined }])(
    'refuses %s',
    (value) => {
      expect(Json.safeParse(value).success).toBe(false);
    },
  );
});

describe('a JSON object', () => {
  const nested = (levels: number): Json =>
    levels === 0 ? 1 : levels % 2 === 0 ? [nested(levels - 1)] : { a: nested(levels - 1) };

  test('the depth of a JSON object is limited, so that messages around it stay readable', () => {
    expect(JsonObject.safeParse({ a: nested(JSON_LEVELS_MAX - 1) }).success).toBe(true);
    expect(JsonObject.safeParse({ a: nested(JSON_LEVELS_MAX) }).success).toBe(false);
  });
});
