import { describe, expect, test } from 'vitest';
import { HttpIdempotentRequest, HttpRequest, originOf } from './http-request.ts';

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
    // URL parsers drop these characters, so the request would differ from the approved one.
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

test('the URL of a request has a maximum length', () => {
  expect(accepts({ url: `http://example.com/${'a'.repeat(2_048)}` })).toBe(false);
});

describe('the headers of a request', () => {
  const withHeaders = (headers: unknown) => ({ url: 'http://example.com/', headers });

  test('ordinary headers are allowed', () => {
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

  test('headers are unique, and their number is limited', () => {
    expect(accepts(withHeaders({ 'X-A': '1', 'x-a': '2' }))).toBe(false);
    expect(accepts(withHeaders({ 'X-A': 'a'.repeat(2_049) }))).toBe(false);
    const many = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`X-${String(i)}`, '']));
    expect(accepts(withHeaders(many))).toBe(false);
  });
});

test.each([
  ['http://Example.com:80/a', 'http://example.com'],
  ['https://example.com:8443/', 'https://example.com:8443'],
  // All notations of an address are equal.
  ['http://2130706433/', 'http://127.0.0.1'],
])('the origin of %s is %s', (url, origin) => {
  expect(originOf(url)).toBe(origin);
});

test('an invalid URL has no origin', () => {
  expect(() => originOf('http://ada:sesame@example.com/')).toThrow(TypeError);
});

describe('a secret', () => {
  const url = 'https://api.example/';

  test.each([
    {
      url,
      headers: {
        Authorization: 'Bearer ${secret:TOKEN}',
        Cookie: 'a=${secret:a.b-c_d}',
        'X-Key': '${secret:K}',
      },
    },
    { url, body: { token: '${secret:TOKEN}' } },
  ])('is named where a request needs it', (request) => {
    expect(accepts(request)).toBe(true);
  });

  test.each([
    { url: 'https://${secret:HOST}/' },
    { url: 'https://api.example/${secret:TOKEN}' },
    { url: 'https://api.example/?key=${secret:TOKEN}' },
    { url, headers: { authorization: 'Bearer ${TOKEN}' } },
    { url, headers: { cookie: '${secret:}' } },
    { url, headers: { 'Proxy-Authorization': '${secret:TOKEN}' } },
    { url, headers: { '${secret:TOKEN}': 'x' } },
  ])('is named nowhere else: %j', (request) => {
    expect(accepts(request)).toBe(false);
  });
});

describe('what a request asks of its answer', () => {
  const url = 'https://api.example/';

  test.each([
    { url, expect: [200, 404] },
    { url, keepHeaders: ['ETag', 'location'] },
    { url, method: 'GET', redirects: 5 },
    { url, method: 'POST', redirects: 0 },
  ])('may be %j', (request) => {
    expect(accepts(request)).toBe(true);
  });

  test.each([
    { url, expect: [] },
    { url, expect: [500] },
    { url, expect: [199] },
    { url, keepHeaders: ['Set-Cookie'] },
    { url, keepHeaders: ['a b'] },
    { url, redirects: 1 },
    { url, method: 'GET', body: 'x', redirects: 1 },
    { url, method: 'GET', redirects: 6 },
  ])('may not be %j', (request) => {
    expect(accepts(request)).toBe(false);
  });
});

test('an idempotent request names an idempotent method', () => {
  const methods = ['GET', 'HEAD', 'PUT', 'DELETE', 'POST', 'PATCH', 'put', undefined];
  const taken = methods.filter(
    (method) => HttpIdempotentRequest.safeParse({ method, url: 'http://a.example' }).success,
  );
  expect(taken).toEqual(['GET', 'HEAD', 'PUT', 'DELETE']);
});
