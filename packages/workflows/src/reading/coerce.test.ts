import { expect, test } from 'vitest';
import { parseBool, parseCount, parseRetryMode, parseTime } from './coerce.ts';

test.each(['true', '1', 'yes', 'on', ' TRUE ', 'Yes'])('the text %j is true', (text) => {
  expect(parseBool(text)).toBe(true);
});
test.each(['false', '0', 'no', 'off', ' False', 'OFF '])('the text %j is false', (text) => {
  expect(parseBool(text)).toBe(false);
});
test.each(['', 'maybe', '2', 'y', 'truee'])('the text %j is not a boolean', (text) => {
  expect(parseBool(text)).toBeUndefined();
});

test.each([
  ['0', 0],
  [' 12 ', 12],
  ['4294967295', 4_294_967_295],
  ['4294967296', undefined],
  ['-1', undefined],
  ['1.0', undefined],
  ['1e3', undefined],
  ['0x10', undefined],
  ['', undefined],
  ['٣', undefined],
])('the count of %j is %j', (text, count) => {
  expect(parseCount(text)).toBe(count);
});

test.each([
  ['30s', 30_000],
  ['10m', 600_000],
  ['2h', 7_200_000],
  ['30d', 2_592_000_000],
  ['1500ms', 1_500],
  ['1500', 1_500],
  ['999', undefined],
  ['31d', undefined],
  ['1.5s', undefined],
  ['10 m', undefined],
  ['', undefined],
])('the time of %j is %j', (text, ms) => {
  expect(parseTime(text)).toBe(ms);
});

test.each([
  ['until_gate', 'until_gate'],
  [' never ', 'never'],
  ['Never', undefined],
  ['', undefined],
])('the retry mode of %j is %j', (text, mode) => {
  expect(parseRetryMode(text)).toBe(mode);
});
