import { describe, expect, test } from 'vitest';
import { lookFor } from './sent-decision.ts';

const sent = { by: 'ada', decision: 'approve' } as const;

describe('a decision whose answer was lost', () => {
  test('has not arrived while nothing of it is seen', () => {
    expect(lookFor({ status: 'pending' }, sent)).toEqual({ kind: 'not-arrived' });
    const others = [{ by: 'grace', decision: 'approve', at: 1 }] as const;
    expect(lookFor({ status: 'pending', votes: [...others] }, sent)).toEqual({ kind: 'not-arrived' });
  });

  test('counts as a vote, also while others have to decide', () => {
    const votes = [{ by: 'ada', decision: 'approve' as const, at: 1 }];
    expect(lookFor({ status: 'pending', votes }, sent)).toEqual({ kind: 'counted' });
    expect(lookFor({ status: 'approved', decidedBy: 'grace', votes }, sent)).toEqual({ kind: 'counted' });
  });

  test('counts when it has decided', () => {
    expect(lookFor({ status: 'approved', decidedBy: 'ada' }, sent)).toEqual({ kind: 'counted' });
    expect(
      lookFor({ status: 'answered', decidedBy: 'ada', answer: 'skip' }, { by: 'ada', decision: 'skip' }),
    ).toEqual({ kind: 'counted' });
    expect(lookFor({ status: 'answered', decidedBy: 'ada' }, { by: 'ada', decision: 'respond' })).toEqual({
      kind: 'counted',
    });
  });

  test('came too late when it was decided by somebody else, or otherwise, or by the clock', () => {
    expect(lookFor({ status: 'rejected', decidedBy: 'grace' }, sent)).toEqual({ kind: 'settled' });
    expect(lookFor({ status: 'rejected', decidedBy: 'ada' }, sent)).toEqual({ kind: 'settled' });
    expect(lookFor({ status: 'expired', decidedBy: 'clock' }, sent)).toEqual({ kind: 'settled' });
  });
});
