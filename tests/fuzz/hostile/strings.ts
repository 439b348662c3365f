import fc from 'fast-check';
import type { Text } from '../text.ts';

/** Strings that are hard to store, compare, print or route. */
export const NASTY: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\r\n',
  'a\nb',
  'a\rb',
  '\u001b[2J\u001b]0;title\u0007',
  '\u009b31m',
  '\u202emoc.live\u202c',
  '\u200b\u2060\ufeff',
  '\ufeffid',
  '\u2028\u2029',
  '\ud800',
  'a\udc00b',
  '\u{1f600}\u{e0041}',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '.',
  '..',
  '../../etc/passwd',
  'a.b',
  '*',
  '>',
  'hp.cmd.>',
  'file\\..\\x',
  '-',
  '--',
  '--help',
  '-0',
  '1e999',
  'NaN',
  'null',
  'undefined',
  '{{7*7}}',
  '%s%n%p',
  "'; DROP TABLE heads; --",
  '$(reboot)',
  '@everyone',
  '[x](https://example.com)',
  '\u0130\u0131\ufb01',
  'e\u0301',
  '\u{10ffff}',
];

export const nastyString: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...NASTY),
  fc.string({ unit: 'binary', maxLength: 12 }),
  // Every single code unit, including half surrogates.
  fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)), maxLength: 8 }),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.tuple(fc.constantFrom(...NASTY), fc.constantFrom(...NASTY)).map((parts) => parts.join('')),
);

const UNITS = [
  'a',
  '\0',
  '\u001b[31m',
  '\u202e',
  '\ud83d\ude00',
  '\ud800',
  '.',
  '\\',
  '"',
  '\n',
  '1',
  ' ',
  'é',
];
/** Lengths around the declared limits and far beyond. */
const TIMES = [63, 64, 65, 200, 201, 256, 257, 1_000, 4_096, 100_000];

export const longText: fc.Arbitrary<Text> = fc
  .tuple(fc.constantFrom(...UNITS), fc.constantFrom(...TIMES))
  .map(([repeat, times]) => ({ repeat, times }));

export const nastyText: fc.Arbitrary<Text> = fc.oneof(
  { weight: 5, arbitrary: nastyString },
  { weight: 1, arbitrary: longText },
);

const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** Nasty strings that UTF-8 JSON can carry and a store accepts. */
export const storableString: fc.Arbitrary<string> = fc.oneof(
  fc.string({ maxLength: 8 }),
  nastyString.filter(isStorable),
);
