import { describe, expect, test } from 'vitest';
import { lookFor } from './sent-decision.ts';

const sent = { by: 'ada', decision: 'approve' } as const;

describe('a decision whose answer was lost', () => {
  test('a decision without a trace has not arrived', () => {
    expect(lookFor({ status: 'pending' }, sent)).toEqual({ kind: 'not-arrived' });
    const others = [{ by: 'grace', decision: 'approve', at: 1 }] as const;
    expect(lookFor({ status: 'pending', votes: [...others] }, sent)).toEqual({ kind: 'not-arrived' });
  });

  test('a vote has arrived, even if more approvals are needed', () => {
    const votes = [{ by: 'ada', decision: 'approve' as const, at: 1 }];
    expect(lookFor({ status: 'pending', votes }, sent)).toEqual({ kind: 'counted' });
    expect(lookFor({ status: 'approved', decidedBy: 'grace', votes }, sent)).toEqual({ kind: 'counted' });
  });

  test('a decision that closed the request has arrived', () => {
    expect(lookFor({ status: 'approved', decidedBy: 'ada' }, sent)).toEqual({ kind: 'counted' });
    expect(
      lookFor({ status: 'answered', decidedBy: 'ada', answer: 'skip' }, { by: 'ada', decision: 'skip' }),
    ).toEqual({ kind: 'counted' });
    expect(lookFor({ status: 'answered', decidedBy: 'ada' }, { by: 'ada', decision: 'respond' })).toEqual({
      kind: 'counted',
    });
  });

  test('a decision came too late if the request was closed by another user, another choice or the clock', () => {
    expect(lookFor({ status: 'rejected', decidedBy: 'grace' }, sent)).toEqual({ kind: 'settled' });
    expect(lookFor({ status: 'rejected', decidedBy: 'ada' }, sent)).toEqual({ kind: 'settled' });
    expect(lookFor({ status: 'expired', decidedBy: 'clock' }, sent)).toEqual({ kind: 'settled' });
  });
});
