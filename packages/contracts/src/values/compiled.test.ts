import { expect, test } from 'vitest';
import { z } from 'zod';
import { compiled } from './compiled.ts';
import { JsonObject } from './json.ts';

const shape = { name: z.string().min(2), size: z.int().default(1), tags: z.array(z.string()).optional() };
const plain = z.object(shape);

test('a compiled schema gives the values and the errors of the schema', () => {
  const fast = compiled(z.object(shape));
  const values = [{ name: 'ab', more: 1 }, { name: 'ab', tags: ['x'] }, { name: 'a', size: 1.5 }, {}, null];
  for (const value of [...values, ...values]) {
    const { data, error } = fast.safeParse(value);
    const wanted = plain.safeParse(value);
    expect(data).toEqual(wanted.data);
    expect(error?.issues).toEqual(wanted.error?.issues);
  }
});

test('a schema that cannot be compiled is used as it is', () => {
  const tree: z.ZodType = compiled(z.object({ inner: z.lazy(() => tree).optional() }));
  expect(tree.parse({ inner: { inner: {}, more: 1 } })).toEqual({ inner: { inner: {} } });
  expect(tree.safeParse({ inner: 1 }).success).toBe(false);
});

test('an option of a union is compiled', () => {
  const one = compiled(z.object({ type: z.literal('one'), name: z.string() }));
  const either = z.discriminatedUnion('type', [one, z.object({ type: z.literal('two') })]);
  expect(either.parse({ type: 'one', name: 'x', more: 1 })).toEqual({ type: 'one', name: 'x' });
  expect(either.safeParse({ type: 'one' }).success).toBe(false);
});

test('a compiled schema drops the key __proto__ at every depth', () => {
  const fast = compiled(z.object({ args: JsonObject }));
  const value = JSON.parse('{"args":{"__proto__":{"polluted":true},"kept":[{"__proto__":1}]}}') as unknown;
  for (const _ of [1, 2]) expect(JSON.stringify(fast.parse(value))).toBe('{"args":{"kept":[{}]}}');
});
