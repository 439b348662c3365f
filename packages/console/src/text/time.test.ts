import { expect, test } from 'vitest';
import { size, span } from './time.ts';

test.each([
  [0, '0 s'],
  [-5, '0 s'],
  [59_400, '59 s'],
  [59_600, '1 min'],
  [125_000, '2 min 5 s'],
  [3_600_000, '1 h'],
  [90_000_000, '1 d 1 h'],
])('%d ms are shown as %s', (ms, text) => {
  expect(span(ms)).toBe(text);
});

test.each([
  [35, '35 B'],
  [1_536, '1.5 KiB'],
  [10_485_760, '10.0 MiB'],
])('%d bytes are shown as %s', (bytes, text) => {
  expect(size(bytes)).toBe(text);
});
