import { describe, expect, test } from 'vitest';
import { HttpRequest, originOf } from './http-request.ts';

const accepts = (request: unknown): boolean => HttpRequest.safeParse(request).success;

describe('the URL of a request', () => {
  test.each([
    'http://example.com',
    'https://example.com:8443/a/b?c=d',
    'http://[::1]:80/',
    'http://127.0.0.1:1/%00',
  ])('may be %s', (url) => {
    expect(accepts({ url })).toBe(true);
  });

  test.each([
    'ftp://example.com/',
    'file:///etc/passwd',
    'http:example.com',
    'example.com',
    'http://',
    'http://ada:sesame@example.com/',
    'http://ada@example.com/',
    'http://example.com/#there',
    // A URL parser leaves these out, so what is approved would not be what is sent.
    'http://exa\nmple.com/',
    ' http://example.com/',
    'http://example.com\\@other.example/',
    'http://ex\u0430mple.com/',
    '',
    7,
    undefined,
  ])('may not be %j', (url) => {
    expect(accepts({ url })).toBe(false);
  });
});

test('the URL of a request is not endless', () => {
  expect(accepts({ url: `http://example.com/${'a'.repeat(2_048)}` })).toBe(false);
});

describe('the headers of a request', () => {
  const withHeaders = (headers: unknown) => ({ url: 'http://example.com/', headers });

  test('may say what the target wants to know', () => {
    expect(accepts(withHeaders({ 'Content-Type': 'text/csv', 'If-Match': '"7"' }))).toBe(true);
  });

  test.each([
    ['Host', 'elsewhere.example'],
    ['content-length', '5'],
    ['Transfer-Encoding', 'chunked'],
    ['Proxy-Connection', 'close'],
    ['Idempotency-Key', 'mine'],
    ['Holdpoint-Epoch', '99'],
    ['Authorization', 'Bearer sesame'],
    ['cookie', 'session=sesame'],
    ['a b', 'x'],
    ['__a__', 'x'],
    ['X-A', 'one\r\nX-B: two'],
    ['X-A', 'n\0l'],
  ])('may not hold %s: %j', (name, value) => {
    expect(accepts(withHeaders(Object.fromEntries([[name, value]])))).toBe(false);
  });

  test('each stand there once, and not without end', () => {
    expect(accepts(withHeaders({ 'X-A': '1', 'x-a': '2' }))).toBe(false);
    expect(accepts(withHeaders({ 'X-A': 'a'.repeat(2_049) }))).toBe(false);
    const many = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`X-${String(i)}`, '']));
    expect(accepts(withHeaders(many))).toBe(false);
  });
});

test.each([
  ['http://Example.com:80/a', 'http://example.com'],
  ['https://example.com:8443/', 'https://example.com:8443'],
  // All the ways to write an address come to one.
  ['http://2130706433/', 'http://127.0.0.1'],
])('the origin of %s is %s', (url, origin) => {
  expect(originOf(url)).toBe(origin);
});

test('what is no target has no origin', () => {
  expect(() => originOf('http://ada:sesame@example.com/')).toThrow(TypeError);
});
