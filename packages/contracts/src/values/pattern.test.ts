import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, test } from 'vitest';
import { finderOf, isPattern, replacerOf } from './pattern.ts';

const PATTERNS = [
  '^a+$',
  '^(?:ab|b)c',
  '^a|b$',
  '(?i)error',
  '^[|)(]x',
  String.raw`^\(|\)$`,
  String.raw`\bE\d{4}\b`,
  '^$',
  'x{2,3}',
  '✗',
];

describe('a pattern', () => {
  test.each(['^error: ', '(?i)abc', String.raw`\bE\d+\b`, 'a{1000}', '[^/]*'])('%s', (source) => {
    expect(isPattern(source)).toBe(true);
  });

  test.each([
    ['what is open', '('],
    ['looking ahead, which takes longer than the text is long', '(?=a)b'],
    ['what has matched before, for the same reason', String.raw`(a)\1`],
    ['repeated too often', 'a{1001}'],
    ['repeated too often in all', '((a{100}){100}){100}'],
    ['too large a program', '[a-z]{900}'.repeat(6)],
  ])('is not %s', (_, source) => {
    expect(isPattern(source)).toBe(false);
  });

  test('any text either is a pattern or is refused', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (source) => typeof isPattern(source) === 'boolean'));
  });
});

describe('several patterns at once', () => {
  const line = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(...'aabbcx|() ✗E1234ErRor'.split('')) }),
  );

  test('several patterns match where each of them matches alone', () => {
    const find = finderOf(PATTERNS);
    const alone = PATTERNS.map((pattern) => RE2JS.compile(pattern));
    fc.assert(
      fc.property(line, (text) => {
        expect(find(text)).toEqual(alone.flatMap((one, place) => (one.test(text) ? [place] : [])));
      }),
      { numRuns: 2_000 },
    );
  });

  test('indexes of patterns survive an invalid pattern', () => {
    expect(finderOf(['a', '(', 'b'])('ab')).toEqual([0, 2]);
    expect(finderOf(['('])('(')).toEqual([]);
    expect(finderOf([])('')).toEqual([]);
  });
});

test('the replacement of a match is literal', () => {
  expect(replacerOf([[String.raw`\d+`, '$1<n>']])('a 12 b')).toBe('a $1<n> b');
});
