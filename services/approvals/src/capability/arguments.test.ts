import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import { describe, expect, test } from 'vitest';
import { argumentProblems } from './arguments.ts';
import { schemaProblem } from './schema-check.ts';

const text = { type: 'string' };
const of = (schema: JsonObject): JsonObject => ({ type: 'object', properties: { a: schema } });

const chosen = (branch: string): JsonObject => ({ if: { required: ['a'] }, [branch]: { required: ['b'] } });

describe('arguments and their schema', () => {
  test.each<[what: string, schema: JsonObject, fits: JsonObject, other: JsonObject, problem: string]>([
    ['a type', of(text), { a: '' }, { a: 1 }, 'a: must be of type string'],
    ['one of two types', of({ type: ['null', 'integer'] }), { a: null }, { a: 1.5 }, 'a: must be of type'],
    ['a required name', { required: ['a'] }, { a: 1 }, {}, 'a: is missing'],
    ['no further name', { additionalProperties: false }, {}, { b: 1 }, 'b: unknown property'],
    ['a schema of further names', { additionalProperties: text }, { b: '' }, { b: 1 }, 'b: must be of'],
    ['names by a pattern', { patternProperties: { '^x': text } }, { x1: '', y: 1 }, { x1: 1 }, 'x1: must'],
    ['a schema of names', { propertyNames: { maxLength: 1 } }, { b: 1 }, { bb: 1 }, 'bb: the name'],
    ['a count of names', { maxProperties: 1 }, { b: 1 }, { b: 1, c: 1 }, 'properties must be at most 1'],
    ['a needed neighbour', { dependentRequired: { a: ['b'] } }, { b: 1 }, { a: 1 }, 'b: is missing beside a'],
    [
      'a schema beside a name',
      { dependentSchemas: { a: { required: ['b'] } } },
      {},
      { a: 1 },
      'b: is missing',
    ],
    ['a listed value', of({ enum: [1, { b: [2] }] }), { a: { b: [2] } }, { a: 2 }, 'a: must be one of'],
    ['one value', of({ const: null }), { a: null }, { a: 0 }, 'a: must be the only'],
    ['a least number', of({ minimum: 1 }), { a: 1 }, { a: 0 }, 'a: must be at least 1'],
    ['a greatest number', of({ maximum: 1 }), { a: 1 }, { a: 2 }, 'a: must be at most 1'],
    ['a number above', of({ exclusiveMinimum: 1 }), { a: 2 }, { a: 1 }, 'a: must be above 1'],
    ['a number below', of({ exclusiveMaximum: 1 }), { a: 0 }, { a: 1 }, 'a: must be below 1'],
    ['a multiple', of({ multipleOf: 0.01 }), { a: 19.99 }, { a: 19.999 }, 'a: must be a multiple of 0.01'],
    ['a least length', of({ minLength: 2 }), { a: 'ab' }, { a: '😀' }, 'a: characters must be at least 2'],
    ['a greatest length', of({ maxLength: 1 }), { a: '😀' }, { a: 'ab' }, 'a: characters must be at most 1'],
    ['a pattern anywhere', of({ pattern: 'b+' }), { a: 'abbc' }, { a: 'ac' }, 'a: must match the pattern b+'],
    ['items', of({ items: text }), { a: [''] }, { a: ['', 1] }, 'a[1]: must be of type string'],
    [
      'first items',
      of({ prefixItems: [text], items: false }),
      { a: [''] },
      { a: ['', 1] },
      'a[1]: must be left',
    ],
    ['a count of items', of({ minItems: 1 }), { a: [1] }, { a: [] }, 'a: items must be at least 1'],
    [
      'different items',
      of({ uniqueItems: true }),
      { a: [1, '1'] },
      { a: [[1], [1]] },
      'a: items must differ',
    ],
    ['a contained item', of({ contains: text }), { a: [1, ''] }, { a: [1] }, 'a: has 0 items'],
    [
      'few contained items',
      of({ contains: text, minContains: 0, maxContains: 1 }),
      { a: [] },
      { a: ['', ''] },
      'a: has 2 items',
    ],
    ['every schema', { allOf: [of(text), { required: ['a'] }] }, { a: '' }, {}, 'a: is missing'],
    ['any schema', of({ anyOf: [text, { type: 'null' }] }), { a: null }, { a: 1 }, 'a: fits none of'],
    ['exactly one schema', of({ oneOf: [text, { minLength: 2 }] }), { a: 'a' }, { a: 'ab' }, 'a: fits 2 of'],
    ['no schema', of({ not: text }), { a: 1 }, { a: '' }, 'a: must not fit'],
    ['then', chosen('then'), {}, { a: 1 }, 'b: is missing'],
    ['else', chosen('else'), { a: 1 }, {}, 'b: is missing'],
    [
      'a named schema that contains itself',
      {
        $ref: '#/$defs/Tree',
        $defs: { Tree: { properties: { a: text, kids: { items: { $ref: '#/$defs/Tree' } } } } },
      },
      { kids: [{ a: '' }] },
      { kids: [{ kids: [{ a: 1 }] }] },
      'kids[0].kids[0].a: must be of type string',
    ],
    [
      'the name of a property of all objects',
      { required: ['toString'] },
      { toString: 1 },
      {},
      'toString: is',
    ],
  ])('a schema can demand %s', (_, schema, fitting, other, problem) => {
    expect(schemaProblem(schema)).toBeUndefined();
    expect(argumentProblems(schema, fitting)).toEqual([]);
    expect(argumentProblems(schema, other).join()).toContain(problem);
  });

  test('format and unknown keywords are notes', () => {
    const schema = of({ format: 'email', title: 'A', discriminator: {}, type: 'string' });
    expect(schemaProblem(schema)).toBeUndefined();
    expect(argumentProblems(schema, { a: 'no address' })).toEqual([]);
  });

  test('the first three problems are reported', () => {
    const problems = argumentProblems({ required: ['a', 'b', 'c', 'd'] }, {});
    expect(problems).toEqual(['a: is missing', 'b: is missing', 'c: is missing']);
  });

  test('a problem shows the start of a long name and no value', () => {
    const [problem = ''] = argumentProblems(
      { additionalProperties: false },
      { ['n'.repeat(5_000)]: 'secret' },
    );
    expect(problem.length).toBeLessThan(200);
    expect(problem).not.toContain('secret');
  });

  test('alternatives that multiply end with a problem', () => {
    const list = { type: 'array', items: { $ref: '#/$defs/Lists' } };
    const schema = of({ $ref: '#/$defs/Lists' });
    const full = { ...schema, $defs: { Lists: { anyOf: [list, list] } } };
    let value: Json = 'no list';
    for (let level = 0; level < 28; level += 1) value = [value];
    expect(schemaProblem(full)).toBeUndefined();
    expect(argumentProblems(full, { a: value })).toEqual(['(arguments): the schema needs too many steps']);
  });

  test('a pattern that stops backtracking matchers takes linear time', () => {
    const schema = of({ pattern: '^(a+)+$' });
    expect(schemaProblem(schema)).toBeUndefined();
    expect(argumentProblems(schema, { a: `${'a'.repeat(50_000)}b` })).toHaveLength(1);
  });
});

describe('a schema is refused', () => {
  test.each<[why: string, schema: JsonObject, problem: string]>([
    ['with an unknown type', { type: 'text' }, '/type: names no type of JSON'],
    ['with a tuple of an older draft', of({ items: [text] }), '/properties/a/items: needs a schema'],
    [
      'of another draft',
      { $schema: 'http://json-schema.org/draft-07/schema#' },
      '/$schema: must be JSON Schema 2020-12',
    ],
    ['with a reference to nothing', of({ $ref: '#/$defs/X' }), '/properties/a/$ref: names no schema'],
    [
      'with a reference to another document',
      of({ $ref: 'https://a.example' }),
      '/properties/a/$ref: names no',
    ],
    ['with a reference into a name with a percent sign', of({ $ref: '#/%' }), '/properties/a/$ref: names no'],
    ['with a circle of references', { allOf: [{ $ref: '#' }] }, 'refers to itself without end'],
    [
      'with look-around',
      of({ pattern: '(?=a)' }),
      '/properties/a/pattern: needs a pattern without look-around',
    ],
    ['with a pattern of enormous size', of({ pattern: '(a{1000}){1000}' }), '/properties/a/pattern: needs'],
    [
      'with an unsupported keyword',
      { unevaluatedProperties: false },
      '/unevaluatedProperties: not supported',
    ],
    ['with a negative count', of({ minLength: -1 }), '/properties/a/minLength: needs a whole number'],
    ['with a flaw in a definition that nothing uses', { $defs: { A: { enum: 1 } } }, '/$defs/A/enum: needs'],
    ['with more than 64 KiB', { title: 'x'.repeat(70_000) }, 'it has more than 65536 bytes'],
    [
      'with more than 200 patterns',
      { allOf: Array.from({ length: 201 }, (_, i) => ({ pattern: `a${String(i)}` })) },
      'is one of more than 200 patterns',
    ],
  ])('%s', (_, schema, problem) => {
    expect(schemaProblem(schema)).toContain(problem);
  });
});
