import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ask, inputRequest } from './ask.ts';
import { fieldsOf } from './form-fields.ts';

test('a form has a field for each property of its schema', () => {
  const schema = z.object({
    name: z.string().max(80).meta({ title: 'Your name', description: 'As on the letter' }),
    body: z.string().max(4_000).optional(),
    copies: z.int().min(1).max(9),
    weight: z.number().min(0.5),
    tone: z.enum(['kind', 'firm']),
    only: z.literal('this'),
    urgent: z.boolean().default(false),
    email: z.email(),
  });
  expect(fieldsOf(schema)).toEqual([
    {
      type: 'text',
      name: 'name',
      label: 'Your name',
      help: 'As on the letter',
      required: true,
      maxLength: 80,
    },
    { type: 'text', name: 'body', required: false, maxLength: 4_000, multiline: true },
    { type: 'number', name: 'copies', required: true, integer: true, min: 1, max: 9 },
    { type: 'number', name: 'weight', required: true, min: 0.5 },
    {
      type: 'choice',
      name: 'tone',
      required: true,
      options: [
        { value: 'kind', label: 'kind' },
        { value: 'firm', label: 'firm' },
      ],
    },
    { type: 'choice', name: 'only', required: true, options: [{ value: 'this', label: 'this' }] },
    { type: 'boolean', name: 'urgent', required: false },
    { type: 'text', name: 'email', required: true },
  ]);
});

describe('fields that no form can show', () => {
  test.each([
    ['a list', z.object({ tags: z.array(z.string()) }), 'the field tags'],
    ['an object', z.object({ address: z.object({ street: z.string() }) }), 'the field address'],
    ['a union', z.object({ id: z.union([z.string(), z.number()]) }), 'the field id'],
    ['a nullable text', z.object({ name: z.string().nullable() }), 'the field name'],
    ['a date', z.object({ when: z.date() }), 'no surface can show'],
    ['an invalid field name', z.object({ 'your name': z.string() }), 'the field your name'],
    ['a text above the length limit', z.object({ text: z.string().max(20_000) }), 'the field text'],
    ['no field', z.object({}), '1 to 25 fields'],
    [
      'too many fields',
      z.object(Object.fromEntries(Array.from({ length: 26 }, (_, at) => [`f${String(at)}`, z.string()]))),
      '1 to 25 fields',
    ],
  ])('a form is refused: %s', (_what, schema, message) => {
    expect(() => ask.form(schema)).toThrow(message);
  });
});

test('a choice has labels', () => {
  expect(inputRequest(ask.choice(['a', { value: 'b', label: 'The second' }, { value: 'c' }]), {})).toEqual({
    kind: 'choice',
    options: [
      { value: 'a', label: 'a' },
      { value: 'b', label: 'The second' },
      { value: 'c', label: 'c' },
    ],
  });
});
