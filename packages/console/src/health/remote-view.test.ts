import type { ClaimantView } from '@holdpoint/contracts/effect/remote';
import { expect, test } from 'vitest';
import { claimantsOf, claimantWord, nextText, remoteStateWord } from './remote-view.ts';

const claimant = (uses: readonly string[]): ClaimantView => ({
  claimant: 'refunds',
  x: 'A'.repeat(43),
  principal: 'ada',
  uses: [...uses],
  isWaiting: true,
  since: 1,
  seenAt: 2,
  holds: [],
});

test('a program claims a capability by the label of its effect, preview or compensation', () => {
  const all = [['cap.remote.refund'], ['cap.remote.refund.preview'], ['cap.remote.refunds']].map(claimant);
  expect(claimantsOf('refund', all)).toEqual(all.slice(0, 2));
});

test('a program with orders shows their number before its wait', () => {
  const held = {
    id: 'e-1',
    epoch: 1,
    uses: 'cap.remote.refund',
    startedAt: 1,
  } as ClaimantView['holds'][number];
  expect(claimantWord({ isWaiting: true, holds: [held, held] })).toEqual(['2 orders', 'busy']);
  expect(claimantWord({ isWaiting: true, holds: [] })).toEqual(['Waits for an order', 'good']);
  expect(claimantWord({ isWaiting: false, holds: [] })).toEqual(['Away', 'warn']);
});

test('an effect in doubt names the next step, and other effects none', () => {
  expect(nextText({ state: 'in_doubt', next: 'person' })).toBe('A person says whether it happened.');
  expect(nextText({ state: 'applied', next: 'person' })).toBeUndefined();
});

test('the state of a newer release is shown as it is', () => {
  expect(remoteStateWord('half_done')).toEqual(['half done', 'quiet']);
});
