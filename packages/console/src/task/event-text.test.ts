import { expect, test } from 'vitest';
import { eventText, eventWord } from './event-text.ts';

test('every event has a text, including events of newer services', () => {
  expect(eventWord('approval_requested')).toBe('Decision requested');
  expect(eventWord('node_teleported')).toBe('node teleported');
  expect(eventWord('constructor')).toBe('constructor');
});

test('the details of an event name who, why and the result, each once', () => {
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
