import { describe, expect, test } from 'vitest';
import { hideStream } from './hide-stream.ts';

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
