import { expect, test } from 'vitest';
import { createPolls } from './polls.ts';

const person = (name: string) => ({ name });

test('a token has a limit of waiting requests, and an answer frees a place', () => {
  const polls = createPolls({ all: 10, token: 2 });
  const first = polls.take(person('ada'));
  polls.take(person('ada'));
  expect(() => polls.take(person('ada'))).toThrow('at most 2 requests of one token may wait at once');
  polls.take(person('grace'));
  first.release();
  expect(() => polls.take(person('ada'))).not.toThrow();
});

test('a refused token takes no place of the others', () => {
  const polls = createPolls({ all: 2, token: 1 });
  polls.take(person('ada'));
  expect(() => polls.take(person('ada'))).toThrow('at most 1');
  polls.take(person('grace'));
  expect(() => polls.take(person('edsger'))).toThrow('too many requests wait');
});
