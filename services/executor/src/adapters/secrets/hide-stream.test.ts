import { describe, expect, test } from 'vitest';
import { hideStream as hide } from './hide-stream.ts';
import { createMatcher, textsOf } from './matcher.ts';

const hideStream = (texts: readonly string[]) => hide(createMatcher(texts));

const shown = (texts: readonly string[], chunks: readonly string[]): string => {
  const { add, end } = hideStream(texts);
  return Buffer.concat([...chunks.map((chunk) => add(Buffer.from(chunk))), end()]).toString('utf8');
};

describe('a secret in chunked output', () => {
  test('a secret is hidden wherever it is split', () => {
    const text = 'a sesame-42 b sesame-42sesame-42 c sesame-4';
    for (let first = 0; first <= text.length; first += 1)
      for (let second = first; second <= text.length; second += 7)
        expect(
          shown(['sesame-42'], [text.slice(0, first), text.slice(first, second), text.slice(second)]),
        ).toBe('a [hidden] b [hidden][hidden] c sesame-4');
  });

  test('a secret is hidden byte by byte, and when it starts again within itself', () => {
    expect(shown(['ababac'], 'xabababacx'.split(''))).toBe('xab[hidden]x');
    expect(shown(['aab'], 'aaab'.split(''))).toBe('a[hidden]');
  });

  test('the longest secret is hidden when one begins another', () => {
    expect(shown(['sesame', 'sesame-42'], ['sesame-42 sesame-43'])).toBe('[hidden] [hidden]-43');
    expect(shown(['sesame', 'sesame-42'], ['a sesame', '-42', ' sesame', '-43 sesame'])).toBe(
      'a [hidden] [hidden]-43 [hidden]',
    );
  });

  test('a binary secret is hidden', () => {
    const { add, end } = hideStream(['grüß']);
    const bytes = Buffer.concat([Buffer.from([0xff, 0xc3]), Buffer.from('grüß'), Buffer.from([0xfe])]);
    const parts = [...bytes].map((byte) => add(Buffer.from([byte])));
    expect(Buffer.concat([...parts, end()])).toEqual(
      Buffer.concat([Buffer.from([0xff, 0xc3]), Buffer.from('[hidden]'), Buffer.from([0xfe])]),
    );
  });

  test('bytes that cannot begin a secret are not delayed', () => {
    expect(hideStream(['sesame']).add(Buffer.from('no ses yet')).toString()).toBe('no ses yet');
    expect(hideStream([]).add(Buffer.from('all')).toString()).toBe('all');
  });
});

/** Numbers that look random, and are the same in every run. */
const chanceFrom = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0;
    return state % below;
  };
};

const SECRET_LETTERS = Array.from('abcXYZ0189-_.+/="\\ $ü');
const hexOf = (text: string): string => Buffer.from(text).toString('hex');
const mixedCase = (text: string, chance: (below: number) => number): string =>
  Array.from(text)
    .map((letter) => (chance(2) === 0 ? letter.toUpperCase() : letter))
    .join('');
const percent = (letter: string): string => hexOf(letter).replaceAll(/../g, '%$&');

const ENCODINGS: Readonly<Record<string, (secret: string, chance: (below: number) => number) => string>> = {
  plain: (secret) => secret,
  'hexadecimal digits': (secret, chance) => mixedCase(hexOf(secret), chance),
  base64: (secret, chance) =>
    Buffer.from('x'.repeat(chance(3)) + secret + 'y'.repeat(chance(4))).toString('base64'),
  base64url: (secret, chance) => Buffer.from('x'.repeat(chance(3)) + secret).toString('base64url'),
  'a mixture of escapes': (secret, chance) =>
    Array.from(secret)
      .map((letter) => {
        const escapes = [
          percent(letter),
          percent(letter).toUpperCase(),
          JSON.stringify(letter).slice(1, -1),
          ...Array.from(letter).map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
          /[%\\]/.test(letter) ? percent(letter) : letter,
        ];
        return escapes[chance(escapes.length)] ?? letter;
      })
      .join(''),
  'JSON within JSON': (secret) => JSON.stringify(JSON.stringify({ secret })),
  'a form in a URL': (secret) => encodeURIComponent(new URLSearchParams({ v: secret }).toString()),
};

describe.each(Object.entries(ENCODINGS))('a secret in %s', (_, encode) => {
  test('no part of it is shown, wherever the output is split', () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      const chance = chanceFrom(seed * 7_919);
      const length = 12 + chance(30);
      const secret = Array.from({ length }, () => SECRET_LETTERS[chance(SECRET_LETTERS.length)])
        .join('')
        .trim();
      const other = Array.from({ length: 20 }, () => SECRET_LETTERS[chance(SECRET_LETTERS.length)]).join('');
      if (secret.length < 10) continue;
      const encoded = encode(secret, chance);
      const text = `before ${encoded} after`;
      const chunks: string[] = [];
      for (let from = 0; from < text.length;) {
        const to = from + 1 + chance(9);
        chunks.push(text.slice(from, to));
        from = to;
      }
      const result = shown([...textsOf(secret), ...textsOf(other)], chunks);
      expect(result, `${secret} as ${encoded}`).toContain('[hidden]');
      expect(result, `${secret} as ${encoded}`).toMatch(/^before .* after$/s);
      // Base64 shows at most the letters that also depend on the neighbours of the secret.
      expect(result.length, `${secret} as ${encoded} is ${result}`).toBeLessThanOrEqual(
        'before [hidden] after'.length + 24,
      );
      expect(result).not.toContain(encoded.slice(4, -4));
    }
  });
});

test('a secret that contains escapes itself is hidden, plain and escaped again', () => {
  const secret = 'postgres://ada:p%40ss%2Fword@db.example';
  for (const text of [secret, encodeURIComponent(secret), JSON.stringify({ secret })])
    expect(shown(textsOf(secret), text.split(''))).toMatch(/^(?:\{"secret":")?\[hidden\](?:"\})?$/);
});

test('of a secret in two outputs, one part is always hidden', () => {
  const secret = 'open-sesame+42/of-the-mountain';
  for (let at = 0; at <= secret.length; at += 1) {
    const both = [secret.slice(0, at), secret.slice(at)].map((part) => shown(textsOf(secret), [part]));
    const left = both.join('').replaceAll('[hidden]', '');
    expect(left.length, both.join(' | ')).toBeLessThanOrEqual(secret.length / 2);
  }
});

test('ordinary output is not changed', () => {
  const text = 'héllo %41 \\u0041 \\n "quoted" 100% \\ and a path C:\\temp\\new';
  expect(shown(textsOf('open-sesame-42-of-ada'), text.split(''))).toBe(text);
});
