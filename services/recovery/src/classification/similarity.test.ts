import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_SIMILARITY, similarity } from './similarity.ts';

describe('paraphrases of one approach', () => {
  test.each([
    [
      'Replace the regex parser in parser.ts with a hand-written tokenizer',
      'Rewrote parser.ts using a hand-written tokenizer instead of the regex',
    ],
    ['Increased the timeout of the request to 30 seconds', 'Raise the request timeout to 60s'],
    [
      'Add a null check before reading user.name in src/user.ts',
      'Added null checks for user.name in user.ts',
    ],
    [
      'Mock the clock with fake timers',
      'I mocked the system clock with fake timers so that the test is deterministic',
    ],
    [
      'Cast the value to any to silence the type error in store.ts',
      'Silence the type error in store.ts by casting the value to any',
    ],
    ['Use a mutex around the counter', 'Guard the counter with a lock'],
    ['Upgrade lodash to version 5', 'bump lodash to 4.17.21'],
    ['Convert the callback to async/await', 'Converted callbacks into async await style'],
    ['Patched the null check in parse()', 'Added null check to parse()'],
    ['Added error handling around the API call with try/catch', 'Wrapped the API call in a try-catch block'],
    ['Fix import path for utils module', 'Corrected the utils module import path'],
    ['Sort the keys before hashing', 'Sorted keys prior to hash'],
  ])('%s', (one, other) => {
    expect(similarity(one, other)).toBeGreaterThanOrEqual(DEFAULT_SIMILARITY);
  });
});

describe('different approaches', () => {
  test.each([
    [
      'in the same file',
      'Replace the regex parser in parser.ts with a hand-written tokenizer',
      'Add caching to parser.ts to avoid reparsing',
    ],
    [
      'about the same thing',
      'Replace the regex parser in parser.ts with a hand-written tokenizer',
      'Patch the regex in parser.ts so that it handles escaped quotes',
    ],
    [
      'about the same request',
      'Increased the timeout of the request to 30 seconds',
      'Retry the request three times with backoff',
    ],
    [
      'with the same value',
      'Cast the value to any to silence the type error in store.ts',
      'Give the value in store.ts a generic type parameter',
    ],
    ['with other means', 'Rewrite the date handling with date-fns', 'Rewrite the date handling with luxon'],
    [
      'with other means and other words',
      'Refactor auth middleware to use JWT tokens',
      'Use session cookies in the auth middleware',
    ],
    [
      'with the same goal',
      'Reordered the imports to break the cycle',
      'Moved the shared types into types.ts to break the import cycle',
    ],
    [
      'with the same beginning',
      'fix the type error by adding a type assertion',
      'fix the type error by changing the interface',
    ],
    ['altogether', 'delete the assertion', 'Add the missing import'],
  ])('%s', (_, one, other) => {
    expect(similarity(one, other)).toBeLessThan(DEFAULT_SIMILARITY);
  });
});

const WORDS = 'add cache the parser with to a lock remove src/a.ts timeout in by using mocks'.split(' ');
const approach = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.constantFrom(...WORDS), { maxLength: 15 }).map((words) => words.join(' ')),
);

test('similarity is symmetric, 1 for equal texts, and between 0 and 1', () => {
  fc.assert(
    fc.property(approach, approach, (a, b) => {
      const found = similarity(a, b);
      expect(found).toBe(similarity(b, a));
      expect(found).toBeGreaterThanOrEqual(0);
      expect(found).toBeLessThanOrEqual(1);
      expect(similarity(a, a)).toBe(1);
    }),
    { numRuns: 1_000 },
  );
});

test('texts without words are similar only if they are equal', () => {
  expect(similarity('1', '2')).toBe(1);
  expect(similarity('?', '!')).toBe(0);
  expect(similarity('', 'add a cache')).toBe(0);
});
