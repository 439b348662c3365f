import { describe, expect, test } from 'vitest';
import { fateOf } from './sent-decision.ts';

const sent = { by: 'ada', decision: 'approve' } as const;

describe('a decision whose answer was lost', () => {
  test('a decision without a trace has not arrived', () => {
    expect(fateOf({ status: 'pending' }, sent)).toEqual({ kind: 'not-arrived' });
    const others = [{ by: 'grace', decision: 'approve', at: 1 }] as const;
    expect(fateOf({ status: 'pending', votes: [...others] }, sent)).toEqual({ kind: 'not-arrived' });
  });

  test('a vote has arrived, even if more approvals are needed', () => {
    const votes = [{ by: 'ada', decision: 'approve' as const, at: 1 }];
    expect(fateOf({ status: 'pending', votes }, sent)).toEqual({ kind: 'counted' });
    expect(fateOf({ status: 'approved', decidedBy: 'grace', votes }, sent)).toEqual({ kind: 'counted' });
  });

  test('a decision that closed the request has arrived', () => {
    expect(fateOf({ status: 'approved', decidedBy: 'ada' }, sent)).toEqual({ kind: 'counted' });
    expect(
      fateOf({ status: 'answered', decidedBy: 'ada', answer: 'skip' }, { by: 'ada', decision: 'skip' }),
    ).toEqual({ kind: 'counted' });
    expect(fateOf({ status: 'answered', decidedBy: 'ada' }, { by: 'ada', decision: 'respond' })).toEqual({
      kind: 'counted',
    });
  });

  test('a decision came too late if the request was closed by another user, another choice or the clock', () => {
    expect(fateOf({ status: 'rejected', decidedBy: 'grace' }, sent)).toEqual({ kind: 'settled' });
    expect(fateOf({ status: 'rejected', decidedBy: 'ada' }, sent)).toEqual({ kind: 'settled' });
    expect(fateOf({ status: 'expired', decidedBy: 'clock' }, sent)).toEqual({ kind: 'settled' });
  });
});
