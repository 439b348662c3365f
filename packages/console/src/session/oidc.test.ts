import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { arrivalOf, beginSignIn, type Begun } from './oidc.ts';

const way = { name: 'Example Login', clientId: 'console & co', scopes: ['openid', 'groups'] };
const LOGIN = 'https://issuer.example/login?tenant=a';
const at = { href: 'https://holdpoint.example/console/?old=1#/tasks/t-1', hash: '#/tasks/t-1' };

test('a sign-in asks for a code that only this tab can redeem, for this page', async () => {
  const { begun, url } = await beginSignIn(way, LOGIN, at);
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
  expect(begun).toMatchObject({ place: '#/tasks/t-1', name: 'Example Login' });
});

test('nothing of one sign-in is that of another', async () => {
  const [one, other] = [await beginSignIn(way, LOGIN, at), await beginSignIn(way, LOGIN, at)];
  const secrets = [one, other].flatMap(({ begun: { state, nonce, verifier } }) => [state, nonce, verifier]);
  expect(new Set(secrets).size).toBe(6);
  for (const secret of secrets) expect(secret).toMatch(/^[\w-]{43}$/);
});

test.each([
  ['https://holdpoint.example', 'https://holdpoint.example/'],
  ['https://holdpoint.example/index.html?a/b', 'https://holdpoint.example/'],
  ['http://127.0.0.1:8702/#/inbox/a?b/c', 'http://127.0.0.1:8702/'],
])('from %s the way back is %s', async (href, back) => {
  expect((await beginSignIn(way, LOGIN, { href, hash: '' })).begun.redirectUri).toBe(back);
});

const begun: Begun = {
  state: 's',
  nonce: 'n',
  verifier: 'v',
  redirectUri: 'https://holdpoint.example/',
  place: '#/tasks/t-1',
  name: 'Example Login',
};

test.each(['', '?', '?state=s', '?old=1'])('%j is how nobody comes from a login', (search) => {
  expect(arrivalOf(search, begun)).toBeUndefined();
});

test('whoever comes back with a code redeems it with what his tab has kept, and goes on where he was', () => {
  const { verifier, nonce, redirectUri } = begun;
  const code = { code: 'c+d', verifier, nonce, redirectUri };
  const rest = { kind: 'code', name: 'Example Login', place: '#/tasks/t-1' };
  expect(arrivalOf('?code=c%2Bd&state=s', begun)).toEqual({ ...rest, code });
  expect(arrivalOf('?state=s&code=c%2Bd&iss=https%3A%2F%2Fissuer.example&session_state=1', begun)).toEqual({
    ...rest,
    code: { ...code, issuer: 'https://issuer.example' },
  });
});

test.each([
  ['with the state of another tab', '?code=c&state=other', begun],
  ['without one', '?code=c', begun],
  ['to a tab that has begun nothing', '?code=c&state=s', undefined],
  ['to a tab that has begun nothing, and with no state either', '?code=c', undefined],
  ['with an error and another state', '?error=access_denied&state=other', begun],
])('whoever comes %s is told so, and nothing is redeemed', (_, search, kept) => {
  expect(arrivalOf(search, kept)).toEqual({
    kind: 'problem',
    notice: expect.stringContaining('not begun in this tab') as string,
    place: undefined,
  });
});

test.each([
  ['error=access_denied', 'Example Login did not let you in, or you turned back there.'],
  ['error=temporarily_unavailable', 'Example Login lets nobody in at the moment.'],
  ['error=invalid_scope', 'refused the sign-in (invalid_scope).'],
  ['error=Call+555-1234+now&error_description=urgent', 'refused the sign-in. Whoever'],
  ['error=access_denied&code=c', 'did not let you in'],
])('of %s only what the standard says is shown', (query, said) => {
  const arrival = arrivalOf(`?state=s&${query}`, begun);
  expect(arrival).toMatchObject({
    kind: 'problem',
    place: '#/tasks/t-1',
    notice: expect.stringContaining(said) as string,
  });
  expect(JSON.stringify(arrival)).not.toMatch(/555|urgent/);
});
