import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type InputField, inputProblems, type InputRequest } from './input.ts';
import { fieldWants, typedOption, typedValue, typedYesOrNo } from './input-typed.ts';

const options = [
  { value: 'prod', label: 'Production' },
  { value: 'test', label: 'Test' },
  { value: '2', label: 'Test' },
];
const fields: Readonly<Record<InputField['type'], InputField>> = {
  text: { type: 'text', name: 'why', required: true, maxLength: 80 },
  number: { type: 'number', name: 'count', required: true, integer: true, min: 1, max: 9 },
  boolean: { type: 'boolean', name: 'sure', required: true },
  choice: { type: 'choice', name: 'env', required: true, options },
};

describe('typed input of a field', () => {
  test.each([
    ['text', ' as it is ', ' as it is '],
    ['number', ' 12 ', 12],
    ['number', '-1.5e2', -150],
    ['number', '.5', 0.5],
    ['boolean', 'Yes', true],
    ['boolean', 'n', false],
    ['boolean', ' FALSE ', false],
    ['choice', 'prod', 'prod'],
    ['choice', ' prod ', 'prod'],
    ['choice', 'production', 'prod'],
  ] as const)('of the type %s: %s', (type, text, value) => {
    expect(typedValue(fields[type], text)).toBe(value);
  });

  test.each([
    ['number', '0x10'],
    ['number', '1,5'],
    ['number', 'Infinity'],
    ['number', '1e999'],
    ['boolean', 'perhaps'],
    ['choice', 'Prod.'],
    ['choice', 'test '.repeat(2)],
  ] as const)('of the type %s stays as it is where it stands for nothing: %s', (type, text) => {
    expect(typedValue(fields[type], text)).toBe(text);
  });

  test('blank input is undefined', () => {
    for (const field of Object.values(fields)) expect(typedValue(field, ' \n')).toBeUndefined();
  });

  test('typed input never becomes a different value', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const number = typedValue(fields.number, text);
        expect([undefined, text, Number(text.trim())]).toContain(number);
        expect([true, false, text]).toContain(typedYesOrNo(text));
      }),
    );
  });
});

test('an option is found by its value, then by a unique label', () => {
  expect(typedOption(options, '2')).toBe('2');
  expect(typedOption(options, 'test')).toBe('test');
  expect(typedOption(options.slice(1), 'TEST')).toBe('TEST');
});

test('the description of a field matches its error', () => {
  expect(Object.values(fields).map(fieldWants)).toEqual([
    'a text of at most 80 characters',
    'a whole number, at least 1, at most 9',
    'yes or no',
    'one of prod, test, 2',
  ]);
  const form: InputRequest = { kind: 'form', fields: [fields.choice, fields.number] };
  expect(inputProblems(form, { env: 'Prod.', count: 1.5 })).toEqual([
    'env: one of prod, test, 2',
    'count: enter a whole number',
  ]);
});
