import { expect, test } from 'vitest';
import { hasWords, queryOf, searchable, typedQueryOf } from './search-words.ts';

test.each([
  ['append Line', "'append' & 'line'", "'append' & 'line':*"],
  ['t-4k2m9x', "'t' & '4k2m9x'", "'t' & '4k2m9x':*"],
  ["it's a 'quote' | !x:*", "'it' & 's' & 'a' & 'quote' & 'x'", "'it' & 's' & 'a' & 'quote' & 'x'"],
  ['straße', "'straße'", "'straße':*"],
  ['ÄÖÜ ΟΔΟΣ', "'äöü' & 'οδοσ'", "'äöü' & 'οδοσ':*"],
  ['ab', "'ab'", "'ab'"],
  ['nul\u0000led', "'nul' & 'led'", "'nul' & 'led':*"],
  [' - \\ ', undefined, undefined],
  [undefined, undefined, undefined],
])('%j is searched by its words', (search, query, typed) => {
  expect([queryOf(search), typedQueryOf(search)]).toEqual([query, typed]);
});

test('a search has at most twenty words', () => {
  expect(queryOf('a '.repeat(100))?.split('&').length).toBe(20);
});

test('a text is found by each of its words, of which long ones are cut', () => {
  expect(searchable('Append a line: "a\u0000b"', "it's \ud800 straße")).toBe('append a line b it s straße');
  expect(searchable('x'.repeat(300))).toBe('x'.repeat(200));
  expect(searchable(`x${'😀'.repeat(150)}`).isWellFormed()).toBe(true);
  expect(searchable(' - ')).toBe('');
});

test.each([
  ['APPEND line', true],
  ['ΟΔΟΣ', true],
  ['οδος', true],
  ['lin', false],
  ['append far', false],
  [' - ', true],
])('whether a text has all words of %j: %s', (search, has) => {
  expect(hasWords(searchable('Append a Line', 'Οδός', 'οδος'), search)).toBe(has);
});
