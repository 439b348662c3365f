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
    ['Parse the dates with luxon', 'I used the luxon library for parsing the dates'],
    ['Switch to the luxon library', 'Switched date parsing over to luxon'],
    ['Use a callback instead of a promise', 'Using callbacks rather than promises'],
    ['Replace moment by luxon', 'Replaced moment with the luxon library'],
    ['Added retry with exponential backoff to the fetch call', 'Retry the fetch with exponential backoff'],
    ['Mock the network layer with nock', 'Mocking network calls using nock'],
    ['I will parse the date with a regular expression', 'Parse the date using a regex'],
    ['Raise the timeout with a longer setting', 'Raised the timeout again by a longer setting'],
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
    [
      'with another library in the same sentence',
      'Parse the dates with the moment library instead of by hand.',
      'Parse the dates with the luxon library instead of by hand.',
    ],
    [
      'with a library whose name contains a word of the goal',
      'Parse the dates with the moment library instead of by hand.',
      'Parse the dates with the date-fns library instead of by hand.',
    ],
    ['with another pattern', 'Using async/await pattern', 'Using callback pattern'],
    ['without any library', 'Parse the dates by hand', 'Parse the dates with moment'],
    ['by another replacement', 'Replace moment by luxon', 'Replace moment by date-fns'],
    ['by another switch', 'Switch date parsing to luxon', 'Switch date parsing to date-fns'],
    ['by another choice', 'Try moment for the date parsing', 'Try luxon for the date parsing'],
    ['by another base', 'Base the date parsing on moment', 'Base the date parsing on luxon'],
    ['the other way round', 'Use luxon instead of moment', 'Use moment instead of luxon'],
    [
      'by another name of the library',
      'Validate the request body via the zod package',
      'Validate the request body via the yup package',
    ],
    [
      'by another short name',
      'Connect to the database with the pg driver',
      'Connect to the database with the ky driver',
    ],
    [
      'by a library named before its kind',
      'The moment library parses the dates now',
      'The luxon library parses the dates now',
    ],
    [
      'by a library named behind its kind',
      'Parse the dates, library moment this time',
      'Parse the dates, library luxon this time',
    ],
    [
      'by another algorithm',
      'Sort the entries using quicksort in sort.ts',
      'Sort the entries using heapsort in sort.ts',
    ],
    ['in another place', 'Move validation to the client', 'Move validation to the server'],
    ['in another store', 'Store tokens in a cookie', 'Store tokens in local storage'],
    [
      'by another call',
      'Replaced the date code by a call to Temporal',
      'Replaced the date code by a call to luxon',
    ],
    [
      'by another data structure',
      'Implement the queue with an array',
      'Implement the queue with a linked list',
    ],
    [
      'by another file format',
      'Store the settings as JSON with a schema',
      'Store the settings as JSON with a checksum',
    ],
  ])('%s', (_, one, other) => {
    expect(similarity(one, other)).toBeLessThan(DEFAULT_SIMILARITY);
  });
});

test.each([
  [
    'Parse the dates with the moment library instead of by hand.',
    'Parse the dates with the luxon library instead of by hand.',
  ],
  ['Using async/await pattern', 'Using callback pattern'],
])('%s and %s are far from similar', (one, other) => {
  // A repository may ask for less similarity, and they must stay different.
  expect(similarity(one, other)).toBeLessThan(0.35);
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
