import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { describe, expect, test } from 'vitest';
import { inputOf, optionsFor } from './question.ts';

const choices = (approval: object) =>
  optionsFor(approval as ApprovalView)
    .map(({ choice }) => choice)
    .join(' ');

describe('the possible decisions', () => {
  test('an effect offers the decisions that its gate allows', () => {
    expect(choices({})).toBe('approve reject request_changes');
    expect(choices({ policy: { decisions: ['reject', 'approve'] } })).toBe('reject approve');
  });

  test('an in-doubt effect and a stuck job have their own answers, independent of the gate', () => {
    expect(choices({ inDoubt: { epoch: 1, reason: '' }, policy: { decisions: ['approve'] } })).toBe(
      'applied not_applied retry',
    );
    expect(choices({ stuck: { class: 'UNKNOWN', reason: '' } })).toBe('retry skip done cancel');
  });
});

describe('a question with its own answer', () => {
  test('a request without input is not a question', () => {
    expect(inputOf({})).toBeUndefined();
  });

  test('a yes-or-no question is answered like an effect', () => {
    expect(inputOf({ input: { kind: 'approval' } })).toBeUndefined();
    expect(choices({ input: { kind: 'approval' } })).toBe('approve reject');
  });

  test('a question shows the text of the workflow', () => {
    const input = { kind: 'text', maxLength: 20 } as const;
    expect(inputOf({ input })).toBe(input);
  });
});
