import { describe, expect, test } from 'vitest';
import { connectOverHttp } from './http-connection.ts';

type Sent = { readonly url: string; readonly method: string | undefined; readonly headers: unknown };

const answering = (status: number, body: string, sent: Sent[] = []) =>
  connectOverHttp({
    url: 'https://holdpoint.example.com/',
    token: 'hpt_secret',
    fetch: (url, { method, headers } = {}) => {
      sent.push({ url: url instanceof Request ? url.url : url.toString(), method, headers });
      return Promise.resolve(new Response(body, { status }));
    },
  });

const HELD = {
  id: 't-1',
  effect: 'e-1',
  capability: 'refund',
  key: 'k',
  state: 'waiting',
};

test('a request carries the token, and its wait in the query', async () => {
  const sent: Sent[] = [];
  const connection = answering(200, JSON.stringify(HELD), sent);
  expect(await connection.held('t-1', { waitMs: 500, not: 'waiting' })).toEqual(HELD);
  expect(sent).toMatchObject([
    {
      url: 'https://holdpoint.example.com/api/v1/effects/t-1?waitMs=500&not=waiting',
      method: 'GET',
      headers: { authorization: 'Bearer hpt_secret' },
    },
  ]);
});

describe('failed requests', () => {
  test.each([
    [
      'a problem keeps its code',
      409,
      '{"code":"EXECUTOR_CLAIM_LOST","message":"over"}',
      'EXECUTOR_CLAIM_LOST',
    ],
    ['an unknown code of a newer server is kept', 400, '{"code":"NEWER","detail":"no"}', 'NEWER'],
    ['a page of a proxy may pass', 502, '<html>bad gateway</html>', 'RUNTIME_UNAVAILABLE'],
    ['a refused token does not pass', 401, 'no', 'ERR_FORBIDDEN'],
    ['an invalid answer is refused', 200, '{"id":1}', 'CONTRACT_INVALID'],
  ])('%s', async (_, status, body, code) => {
    await expect(answering(status, body).held('t-1')).rejects.toMatchObject({ code });
  });

  test('without an answer the server is away, and the error does not show the token', async () => {
    const connection = connectOverHttp({
      url: 'https://holdpoint.example.com',
      token: 'hpt_secret',
      fetch: () => Promise.reject(new TypeError('fetch failed')),
    });
    const error: unknown = await connection.keys().catch((refused: unknown) => refused);
    expect(error).toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
    expect(JSON.stringify(error) + String(error)).not.toContain('hpt_secret');
  });
});
