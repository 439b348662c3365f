import { expect, test } from 'vitest';
import { eventText, eventWord } from './event-text.ts';

test('an event is told in words, also one of a newer service', () => {
  expect(eventWord('approval_requested')).toBe('Asked for a decision');
  expect(eventWord('node_teleported')).toBe('node teleported');
  expect(eventWord('constructor')).toBe('constructor');
});

test('what it says is who, why and what came of it, each once', () => {
  expect(
    eventText({
      data: {
        outcome: 'changes_requested',
        by: 'ada',
        comment: 'shorter',
        reason: 'x',
        error: { message: 'x' },
      },
    }),
  ).toBe('changes requested, x, by ada, “shorter”');
  expect(eventText({ data: { outcome: 7, wait: null, by: 'ada' } })).toBe('by ada');
});
