import { describe, expect, test } from 'vitest';
import { createSourceOf, isAddressRange } from './source.ts';

const PROXIES = ['10.1.0.0/16', '192.0.2.7', 'fd00::/8'];

const from = (remoteAddress: string | undefined, forwarded?: string | string[]) => ({
  socket: { remoteAddress } as never,
  headers: { 'x-forwarded-for': forwarded } as never,
});

describe('without trusted proxies', () => {
  const sourceOf = createSourceOf([]);

  test.each([
    ['203.0.113.5', '203.0.113.5'],
    ['::ffff:203.0.113.5', '203.0.113.5'],
    [undefined, 'gone'],
  ])('the address of the socket %s is the source, whatever the header says', (remote, source) => {
    expect(sourceOf(from(remote, '198.51.100.1'))).toBe(source);
  });
});

describe('behind trusted proxies', () => {
  const sourceOf = createSourceOf(PROXIES);

  test('a caller that is no trusted proxy cannot choose its source', () => {
    expect(sourceOf(from('203.0.113.5', '198.51.100.1'))).toBe('203.0.113.5');
  });

  test.each([
    ['198.51.100.1', '198.51.100.1'],
    // The left part is what the client itself sent.
    ['192.0.2.99, 198.51.100.1', '198.51.100.1'],
    ['192.0.2.99, 198.51.100.1, 10.1.2.3', '198.51.100.1'],
    ['192.0.2.99,198.51.100.1,fd00::5,192.0.2.7', '198.51.100.1'],
    ['198.51.100.1:4711', '198.51.100.1'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['2001:DB8::1', '2001:db8::1'],
    ['::ffff:198.51.100.1', '198.51.100.1'],
  ])('the right-most address of "%s" that is no proxy is the source: %s', (forwarded, source) => {
    for (const proxy of ['10.1.255.1', '::ffff:10.1.0.9', '192.0.2.7', 'fd12::1'])
      expect(sourceOf(from(proxy, forwarded))).toBe(source);
  });

  test.each([
    undefined,
    '',
    'unknown',
    '198.51.100.1, unknown',
    '198.51.100.1, ',
    '198.51.100.1, 10.1.2.3.4',
  ])('the proxy itself is the source when its part of the header "%s" is no address', (forwarded) => {
    expect(sourceOf(from('10.1.0.1', forwarded))).toBe('10.1.0.1');
  });

  test('the left-most address is the source when all are proxies', () => {
    expect(sourceOf(from('10.1.0.1', '10.1.0.3, 10.1.0.2'))).toBe('10.1.0.3');
  });
});

test.each(['10.1.0.0/16', '192.0.2.7', 'fd00::/8', '::1', '0.0.0.0/0'])('%s is an address range', (text) => {
  expect(isAddressRange(text)).toBe(true);
});

test.each([
  '',
  'ingress',
  '10.1.0.0/33',
  '10.1.0.0/',
  '10.1.0.0/-1',
  '10.1/16',
  'fd00::/129',
  '10.0.0.0/8/8',
])('"%s" is no address range', (text) => {
  expect(isAddressRange(text)).toBe(false);
});
