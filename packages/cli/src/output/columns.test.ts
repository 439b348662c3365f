import { expect, test } from 'vitest';
import { clock, columns, instant, shorten, span } from './columns.ts';

test('columns are aligned, and cell content cannot break them', () => {
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

test('empty cells leave no trailing blanks', () => {
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
])('%i ms is shown as %s', (ms, text) => {
  expect(span(ms)).toBe(text);
});

test('times do not depend on the machine', () => {
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

test('one wide cell does not pad the other rows', () => {
  const rows = [['x'.repeat(100_000), 'a'], ...Array.from({ length: 1_000 }, () => ['b', 'c'])];
  expect(columns(rows).join('').length).toBeLessThan(300_000);
});

test.each([8_640_000_000_000_001, Number.MAX_SAFE_INTEGER, Number.NaN, Infinity])(
  'an invalid time is shown as unknown: %d',
  (epochMs) => {
    expect(instant(epochMs)).toBe('unknown');
    expect(clock(epochMs).trim()).toBe('unknown');
  },
);
