import { expect, test } from 'vitest';
import { excerpt, piecesOf, visible } from './visible.ts';

test('a bidirectional mark is shown by name', () => {
  expect(piecesOf('invoice\u202Efdp.exe')).toEqual([
    { text: 'invoice' },
    { mark: 'U+202E' },
    { text: 'fdp.exe' },
  ]);
});

test.each([
  ['\u200b', '[U+200B]'],
  ['\u2066x\u2069', '[U+2066]x[U+2069]'],
  ['\u0000\u001b[2J', '[U+0000][U+001B][2J'],
  ['\u{e0041}', '[U+E0041]'],
  ['\ufeff', '[U+FEFF]'],
  ['\u2028', '[U+2028]'],
  ['\ud800', '[U+D800]'],
  ['\u3164', '[U+3164]'],
])('%j is made visible', (text, shown) => {
  expect(visible(text)).toBe(shown);
});

test('line ends, tabs and letters of any script are kept', () => {
  expect(visible('a\r\nb\tc\nשלום 漢字')).toBe('a\nb\tc\nשלום 漢字');
  expect(visible('a\rb')).toBe('a[U+000D]b');
});

test('tags are shown as text', () => {
  expect(piecesOf('<script>alert(1)</script>')).toEqual([{ text: '<script>alert(1)</script>' }]);
});

test('an excerpt ends at the first limit, and never inside a character', () => {
  const limit = { characters: 5, lines: 2 };
  expect(excerpt('abc', limit)).toEqual({ shown: 'abc', left: 0 });
  expect(excerpt('abcdefg', limit)).toEqual({ shown: 'abcde', left: 2 });
  expect(excerpt('a\nb\nc', limit)).toEqual({ shown: 'a\nb', left: 2 });
  expect(excerpt('abcd\u{1F600}x', limit)).toEqual({ shown: 'abcd', left: 3 });
});
