import { expect, test } from 'vitest';
import { askedFor, endOf, NO_FILTER } from './task-filter.ts';

test('empty filters are not sent', () => {
  expect(askedFor(NO_FILTER, 0)).toEqual({});
  expect(askedFor({ ...NO_FILTER, words: ' ', workflow: ' ', person: '  ' }, 0)).toEqual({});
});

test('filters are sent with the query', () => {
  const filter = {
    words: ' greet ',
    phase: 'failed',
    workflow: 'draft@2 ',
    person: ' ada',
    days: '7',
  } as const;
  expect(askedFor(filter, 700_000_000)).toEqual({
    search: 'greet',
    phase: 'failed',
    workflow: 'draft@2',
    requestedBy: 'ada',
    createdAfter: 700_000_000 - 7 * 86_400_000,
  });
});

test.each([
  [0, false, false, 'No tasks.'],
  [0, false, true, 'No match among the latest tasks: Older searches on.'],
  [3, false, true, 'Not all tasks were searched: Older searches on.'],
  [50, true, true, undefined],
  [3, false, false, undefined],
])('the note for %i tasks, full: %j, more: %j', (shown, isFull, more, said) => {
  expect(endOf(shown, isFull, more)).toBe(said);
});
