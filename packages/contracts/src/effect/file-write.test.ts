import { describe, expect, test } from 'vitest';
import { contentOf, FileWrite } from './file-write.ts';

const SHA256 = 'a'.repeat(64);
const accepts = (input: object): boolean => FileWrite.safeParse({ file: 'a.txt', ...input }).success;

describe('a file to write', () => {
  test.each([
    { content: '' },
    { content: 'grüß dich\n', expect: 'absent' },
    { contentBase64: '', expect: SHA256 },
    { contentBase64: 'AP8=', mode: '0644' },
    { content: 'x', mode: '755' },
    { content: 'x', file: 'a/.holdpoint/config.toml' },
    { content: 'x', preview: { before: null, diff: '' } },
    { content: 'x', preview: { before: { sha256: SHA256, bytes: 3 } } },
    { content: 'x'.repeat(262_144) },
  ])('may be %j', (input) => {
    expect(accepts(input)).toBe(true);
  });

  test.each([
    {},
    { content: 'x', contentBase64: 'eA==' },
    { contentBase64: 'no base64' },
    { content: '\ud800' },
    { content: 'x', file: '' },
    { content: 'x', file: '/' },
    { content: 'x', file: '/etc/passwd' },
    { content: 'x', file: '//srv/workspace/a.txt' },
    { content: 'x', file: 'a/../../b' },
    { content: 'x', file: 'a.txt.lock' },
    { content: 'x', file: 'a.txt.lock/' },
    { content: 'x', file: 'b/../a.txt.lock/.' },
    { content: 'x', file: 'a.txt.lock/b/..' },
    { content: 'x', file: '.holdpoint-e-1' },
    { content: 'x', file: 'a/.holdpoint-e-1//' },
    { content: 'x', file: 'x'.repeat(513) },
    { content: 'x', expect: 'present' },
    { content: 'x', expect: SHA256.toUpperCase() },
    { content: 'x', mode: '4755' },
    { content: 'x', mode: '0888' },
    { content: 'x', preview: { before: 'something' } },
    { content: 'ü'.repeat(131_073) },
    { contentBase64: Buffer.alloc(262_145).toString('base64') },
  ])('may not be %j', (input) => {
    expect(accepts(input)).toBe(false);
  });

  test('the content is UTF-8 text or base64 bytes', () => {
    expect([...contentOf({ file: 'a', content: 'ü\0' })]).toEqual([0xc3, 0xbc, 0]);
    expect([...contentOf({ file: 'a', contentBase64: 'AP8=' })]).toEqual([0, 0xff]);
  });
});
