import type { ApprovalView } from '@holdpoint/contracts/approval/views';
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

describe('a question with an answer of its own', () => {
  test('is none where there is no input', () => {
    expect(inputOf({})).toBeUndefined();
  });

  test('is answered like an effect where only yes or no is asked for', () => {
    expect(inputOf({ input: { kind: 'approval' } })).toBeUndefined();
    expect(choices({ input: { kind: 'approval' } })).toBe('approve reject');
  });

  test('is what the program has asked', () => {
    const input = { kind: 'text', maxLength: 20 } as const;
    expect(inputOf({ input })).toBe(input);
  });
});
