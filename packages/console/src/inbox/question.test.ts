import type { ApprovalView } from '@holdpoint/contracts/approval';
import { describe, expect, test } from 'vitest';
import { inputOf, optionsFor } from './question.ts';

const choices = (approval: object) =>
  optionsFor(approval as ApprovalView)
    .map(({ choice }) => choice)
    .join(' ');

describe('what can be said', () => {
  test('of an effect is what its gate leaves open', () => {
    expect(choices({})).toBe('approve reject request_changes');
    expect(choices({ policy: { decisions: ['reject', 'approve'] } })).toBe('reject approve');
  });

  test('of a doubt and of a stuck job are their own answers, whatever the gate says', () => {
    expect(choices({ doubt: { epoch: 1, reason: '' }, policy: { decisions: ['approve'] } })).toBe(
      'applied not_applied retry',
    );
    expect(choices({ stuck: { class: 'UNKNOWN', reason: '' } })).toBe('retry skip done cancel');
  });
});

describe('a question with answers of its own', () => {
  test('is none where there is no input, or only an approval is asked for', () => {
    expect(inputOf({})).toBeUndefined();
    expect(inputOf({ input: { kind: 'approval' } })).toBeUndefined();
    expect(inputOf({ input: 'text' })).toBeUndefined();
    expect(inputOf({ input: { kind: ['text'] } })).toBeUndefined();
  });

  test('offers its options, as words or with labels', () => {
    expect(
      inputOf({ input: { kind: 'choice', options: ['a', { value: 'b', label: 'Bee' }, 7] } }),
    ).toMatchObject({
      options: [
        { value: 'a', label: 'a' },
        { value: 'b', label: 'Bee' },
      ],
    });
  });

  test.each([
    ['a list', { fields: [{ name: 'n', type: 'integer', required: true }] }],
    ['a schema', { schema: { properties: { n: { type: 'integer' } }, required: ['n'] } }],
    ['a record', { fields: { n: { type: 'number', required: true } } }],
  ])('has the fields of its form, given as %s', (_, form) => {
    expect(inputOf({ input: { kind: 'form', ...form } })?.fields).toEqual([
      { name: 'n', label: 'n', type: 'number', options: [], required: true },
    ]);
  });
});
