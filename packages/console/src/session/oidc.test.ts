import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { arrivalOf, beginSignIn, type PendingSignIn } from './oidc.ts';

const way = { name: 'Example Login', clientId: 'console & co', scopes: ['openid', 'groups'] };
const LOGIN = 'https://issuer.example/login?tenant=a';
const at = { href: 'https://holdpoint.example/console/?old=1#/tasks/t-1', hash: '#/tasks/t-1' };

test('a sign-in requests a code that only this tab can redeem, for this page', async () => {
  const { pending: begun, url } = await beginSignIn(way, LOGIN, at);
  const { origin, pathname, searchParams } = new URL(url);
  expect(origin + pathname).toBe('https://issuer.example/login');
  expect(Object.fromEntries(searchParams)).toEqual({
    tenant: 'a',
    response_type: 'code',
    client_id: 'console & co',
    redirect_uri: 'https://holdpoint.example/console/',
    scope: 'openid groups',
    state: begun.state,
    nonce: begun.nonce,
    code_challenge: createHash('sha256').update(begun.verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  expect(url).not.toContain(begun.verifier);
  expect(begun).toMatchObject({ route: '#/tasks/t-1', name: 'Example Login' });
});

test('two sign-ins share no secret', async () => {
  const [one, other] = [await beginSignIn(way, LOGIN, at), await beginSignIn(way, LOGIN, at)];
  const secrets = [one, other].flatMap(({ pending: { state, nonce, verifier } }) => [state, nonce, verifier]);
  expect(new Set(secrets).size).toBe(6);
  for (const secret of secrets) expect(secret).toMatch(/^[\w-]{43}$/);
});

test.each([
  ['https://holdpoint.example', 'https://holdpoint.example/'],
  ['https://holdpoint.example/index.html?a/b', 'https://holdpoint.example/'],
  ['http://127.0.0.1:8702/#/inbox/a?b/c', 'http://127.0.0.1:8702/'],
])('from %s the user returns to %s', async (href, back) => {
  expect((await beginSignIn(way, LOGIN, { href, hash: '' })).pending.redirectUri).toBe(back);
});

const begun: PendingSignIn = {
  state: 's',
  nonce: 'n',
  verifier: 'v',
  redirectUri: 'https://holdpoint.example/',
  route: '#/tasks/t-1',
  name: 'Example Login',
};

test.each(['', '?', '?state=s', '?old=1'])('%j is not an answer of a login', (search) => {
  expect(arrivalOf(search, begun)).toBeUndefined();
});

test("a returned code is redeemed with the tab's verifier, and the user continues at the same place", () => {
  const { verifier, nonce, redirectUri } = begun;
  const code = { code: 'c+d', verifier, nonce, redirectUri };
  const rest = { kind: 'code', name: 'Example Login', route: '#/tasks/t-1' };
  expect(arrivalOf('?code=c%2Bd&state=s', begun)).toEqual({ ...rest, code });
  expect(arrivalOf('?state=s&code=c%2Bd&iss=https%3A%2F%2Fissuer.example&session_state=1', begun)).toEqual({
    ...rest,
    code: { ...code, issuer: 'https://issuer.example' },
  });
});

test.each([
  ['the state of another tab', '?code=c&state=other', begun],
  ['a code without state', '?code=c', begun],
  ['a code, in a tab that started nothing', '?code=c&state=s', undefined],
  ['a code without state, in a tab that started nothing', '?code=c', undefined],
  ['an error and another state', '?error=access_denied&state=other', begun],
])('a return with %s is reported, and nothing is redeemed', (_, search, kept) => {
  expect(arrivalOf(search, kept)).toEqual({
    kind: 'problem',
    notice: expect.stringContaining('did not start the sign-in') as string,
    route: undefined,
  });
});

test.each([
  ['error=access_denied', 'Example Login denied access, or you cancelled the login.'],
  ['error=temporarily_unavailable', 'Example Login is temporarily unavailable.'],
  ['error=invalid_scope', 'refused the sign-in (invalid_scope).'],
  ['error=Call+555-1234+now&error_description=urgent', 'refused the sign-in. Ask your administrator'],
  ['error=access_denied&code=c', 'denied access'],
])('of the error %s only standard codes are shown', (query, said) => {
  const arrival = arrivalOf(`?state=s&${query}`, begun);
  expect(arrival).toMatchObject({
    kind: 'problem',
    route: '#/tasks/t-1',
    notice: expect.stringContaining(said) as string,
  });
  expect(JSON.stringify(arrival)).not.toMatch(/555|urgent/);
});
