import * as crypto from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { hash, randomUUID } from './node-crypto.ts';

describe('the hash of the browser', () => {
  test.each(['', 'abc', 'Grüße \u{1F600}', 'x'.repeat(1_000), new Uint8Array([0, 255, 7])])(
    '%j has the hash of Node.js',
    (data) => {
      expect(hash('sha256', data)).toBe(crypto.hash('sha256', data));
      expect(hash('sha256', data, 'binary')).toBe(crypto.hash('sha256', data, 'binary'));
      expect(Buffer.from(hash('sha256', data, 'buffer'))).toEqual(crypto.hash('sha256', data, 'buffer'));
    },
  );

  test('any other algorithm is refused', () => {
    expect(() => hash('md5', '')).toThrow('no md5 in a browser');
  });
});

test('a random UUID has version and variant, and is another one each time', () => {
  const ids = Array.from({ length: 100 }, randomUUID);
  expect(new Set(ids).size).toBe(100);
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
