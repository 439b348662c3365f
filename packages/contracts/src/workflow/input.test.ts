import { describe, expect, test } from 'vitest';
import { InputRequest, inputProblems } from './input.ts';

const options = [
  { value: 'keep', label: 'Keep it' },
  { value: 'drop', label: 'Drop it' },
];
const form: InputRequest = {
  kind: 'form',
  fields: [
    { type: 'text', name: 'why', required: true, maxLength: 5 },
    { type: 'number', name: 'copies', required: false, integer: true, min: 1, max: 3 },
    { type: 'boolean', name: 'urgent', required: true },
    { type: 'choice', name: 'what', required: true, options },
  ],
};
const whole = { why: 'so', copies: 2, urgent: false, what: 'keep' };

test.each<[InputRequest, Parameters<typeof inputProblems>[1]]>([
  [{ kind: 'approval' }, false],
  [{ kind: 'choice', options }, 'drop'],
  [{ kind: 'text' }, 'because'],
  [form, whole],
  [form, { why: 'so', urgent: true, what: 'drop' }],
])('%j is answered by %j', (asked, response) => {
  expect(inputProblems(asked, response)).toEqual([]);
});

test.each<[InputRequest, Parameters<typeof inputProblems>[1], readonly string[]]>([
  [{ kind: 'approval' }, 'yes', ['enter true or false']],
  [{ kind: 'choice', options }, 'Keep it', ['one of keep, drop']],
  [{ kind: 'text', maxLength: 3 }, 'because', ['at most 3 characters']],
  [{ kind: 'text' }, '  ', ['enter a text']],
  [form, [], ['fill in the form fields']],
  [form, null, ['fill in the form fields']],
  [form, { ...whole, why: 'because' }, ['why: at most 5 characters']],
  [form, { ...whole, copies: 1.5 }, ['copies: enter a whole number']],
  [form, { ...whole, copies: 4 }, ['copies: at most 3']],
  [form, { ...whole, copies: 0 }, ['copies: at least 1']],
  [form, { ...whole, copies: '2' }, ['copies: enter a number']],
  [form, { ...whole, more: 1 }, ['more: unknown field']],
  [form, { why: 'so', urgent: 1, what: 'burn' }, ['urgent: enter true or false', 'what: one of keep, drop']],
  [form, { urgent: true, what: 'keep' }, ['why: required']],
])('%j is not answered by %j', (asked, response, problems) => {
  expect(inputProblems(asked, response)).toEqual(problems);
});

describe('names of options and fields are unique', () => {
  test.each([
    ['two options of one value', { kind: 'choice', options: [options[0], options[0]] }],
    ['two fields of one name', { kind: 'form', fields: [form.fields[0], form.fields[0]] }],
  ])('%s are refused', (_what, asked) => {
    expect(InputRequest.safeParse(asked).success).toBe(false);
  });
});
