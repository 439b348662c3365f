import * as crypto from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { hash } from './node-crypto.ts';

describe('the hash of the browser', () => {
  test.each(['', 'abc', 'Grüße \u{1F600}', 'x'.repeat(1_000), new Uint8Array([0, 255, 7])])(
    '%j has the hash of Node.js',
    (data) => {
      expect(hash('sha256', data)).toBe(crypto.hash('sha256', data));
      expect(Buffer.from(hash('sha256', data, 'buffer'))).toEqual(crypto.hash('sha256', data, 'buffer'));
    },
  );

  test('any other algorithm is refused', () => {
    expect(() => hash('md5', '')).toThrow('no md5 in a browser');
  });
});
