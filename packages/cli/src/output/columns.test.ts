import { expect, test } from 'vitest';
import { clock, columns, instant, shorten, span } from './columns.ts';

test('columns are aligned, and nothing in a cell breaks them', () => {
  expect(
    columns(
      [
        ['a', 'long', 'x'],
        ['bbb', 'c\u001b\n', 'y\u202e'],
      ],
      '  ',
    ),
  ).toEqual(['  a    long          x', '  bbb  c\\u{1b}\\u{a}  y\\u{202e}']);
});

test('empty cells leave no blanks at the end', () => {
  expect(
    columns([
      ['a', ''],
      ['b', 'c'],
    ]),
  ).toEqual(['a', 'b  c']);
});

test.each([
  [-5, '0 s'],
  [999, '0 s'],
  [59_999, '59 s'],
  [119_999, '1 min'],
  [3_600_000, '1 h'],
  [200_000_000, '2 d'],
])('%i ms is %s', (ms, text) => {
  expect(span(ms)).toBe(text);
});

test('times are the same everywhere', () => {
  const at = Date.UTC(2026, 0, 15, 9, 30, 0, 123);
  expect([instant(at), clock(at)]).toEqual(['2026-01-15 09:30:00Z', '09:30:00.123']);
});

test.each([
  ['short', 'short'],
  ['one\ntwo', 'one…'],
  ['0123456789', '0123456789'],
  ['0123456789a', '012345678…'],
  ['', ''],
])('%j is shortened to %j', (text, short) => {
  expect(shorten(text, 10)).toBe(short);
});

test('one wide cell is not paid for by every other row', () => {
  const rows = [['x'.repeat(100_000), 'a'], ...Array.from({ length: 1_000 }, () => ['b', 'c'])];
  expect(columns(rows).join('').length).toBeLessThan(300_000);
});

test.each([8_640_000_000_000_001, Number.MAX_SAFE_INTEGER, Number.NaN, Infinity])(
  'a number that is no time is shown as none: %d',
  (epochMs) => {
    expect(instant(epochMs)).toBe('no time');
    expect(clock(epochMs).trim()).toBe('no time');
  },
);
