import { describe, expect, test } from 'vitest';
import { ALWAYS_A_PERSON, ApprovalPolicy } from './approval-policy.ts';
import { SideEffectKind, WAIT_MAX_MS } from './side-effect.ts';

describe('a policy', () => {
  test.each<[string, unknown]>([
    ['says nothing', {}],
    [
      'says everything',
      {
        decisions: ['approve', 'reject'],
        quorum: 20,
        fourEyes: true,
        veto: false,
        onExpiry: 'request_changes',
        remindMs: [1_000, WAIT_MAX_MS],
        handOn: [{ afterMs: 1_000, audience: ['role:lead'] }],
        rules: false,
      },
    ],
  ])('%s', (_, policy) => {
    expect(ApprovalPolicy.parse(policy)).toEqual(policy);
  });

  test.each<[string, unknown]>([
    ['that lets nothing be said', { decisions: [] }],
    ['with a decision that there is not', { decisions: ['applied'] }],
    ['of nobody', { quorum: 0 }],
    ['of half a person', { quorum: 1.5 }],
    ['of more people than can be asked', { quorum: 21 }],
    ['that approves what nobody has decided', { onExpiry: 'approve' }],
    ['that reminds at once', { remindMs: [0] }],
    ['that reminds after a time that cannot be added to a clock', { remindMs: [WAIT_MAX_MS + 1] }],
    ['that reminds without end', { remindMs: Array(11).fill(1_000) }],
    ['that hands on to nobody', { handOn: [{ afterMs: 1_000, audience: [] }] }],
    [
      'that hands on without end',
      { handOn: Array.from({ length: 6 }, () => ({ afterMs: 1_000, audience: ['x'] })) },
    ],
    ['in other words than these', { fourEyes: 'yes' }],
  ])('%s is none', (_, policy) => {
    expect(ApprovalPolicy.safeParse(policy).success).toBe(false);
  });
});

test('standing rules never cover irreversible or production effects', () => {
  expect(ALWAYS_A_PERSON.toSorted()).toEqual(['deploy', 'destructive_edit', 'merge']);
  expect(SideEffectKind.options).toEqual(expect.arrayContaining([...ALWAYS_A_PERSON]));
});
