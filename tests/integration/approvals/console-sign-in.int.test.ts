import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type OidcCode, SignedIn, SignInWays } from '@holdpoint/contracts/approval/sign-in';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { mend, type OidcProvider, startOidcProvider } from '../../kit/surfaces/oidc-provider.ts';
import { writePrincipals } from '../../kit/stack/principals.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { untilTrue } from '../../kit/until.ts';
import { type Answered, type Call, callHttp } from '../../kit/console/web.ts';

// The requests of the console page during a sign-in with an OIDC provider.

const CLIENT_SECRET = 'a secret: of/the+client';

let system: System;
let provider: OidcProvider;
let confidential: OidcProvider;
let service: ServiceInProcess;
let other: ServiceInProcess;
let secretFile: string;
beforeAll(async () => {
  [provider, confidential] = await Promise.all([
    startOidcProvider(),
    startOidcProvider({ clientSecret: CLIENT_SECRET }),
  ]);
  system = await createSystem();
  secretFile = join(system.folder, 'client-secret');
  await writeFile(secretFile, `${CLIENT_SECRET}\n`);
  const people = [
    { name: 'operator', groups: ['operators'], token: system.client.token },
    { name: 'ada', groups: ['operators'], token: 'hpt_ada_0123456789', oidc: 'sub-ada' },
  ];
  const settings = (of: OidcProvider, audience: string) => ({
    HOLDPOINT_OIDC_ISSUER: of.issuer,
    HOLDPOINT_OIDC_AUDIENCE: audience,
    HOLDPOINT_OIDC_JWKS: of.jwks,
    HOLDPOINT_OIDC_CLIENT_ID: of.clientId,
  });
  await system.start('orchestrator');
  const principals = { HOLDPOINT_PRINCIPALS_FILE: await writePrincipals(system.folder, people) };
  service = await system.start('approvals', {
    ...principals,
    ...settings(provider, provider.clientId),
    HOLDPOINT_OIDC_CLIENT_SCOPES: 'openid,groups',
    HOLDPOINT_OIDC_PROVIDER_NAME: 'Example Login',
    HOLDPOINT_WEB_ORIGINS: 'https://holdpoint.example',
  });
  other = await system.start('approvals', {
    ...principals,
    ...settings(confidential, 'an-api'),
    HOLDPOINT_OIDC_CLIENT_SECRET_FILE: secretFile,
  });
});
afterAll(async () => {
  await system.stop();
  await provider.stop();
  await confidential.stop();
});
beforeEach(() => {
  mend(provider);
  mend(confidential);
});

const originOf = ({ httpPort }: ServiceInProcess): string => `http://127.0.0.1:${String(httpPort)}`;

/** The values that a page keeps during a sign-in, and the parameters that the provider returns. */
const begin = (
  at: ServiceInProcess,
  from: OidcProvider,
  { subject = 'sub-ada', redirectUri = `${originOf(at)}/` } = {},
): OidcCode => {
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const nonce = randomBytes(16).toString('base64url');
  return { code: from.codeFor({ redirectUri, challenge, nonce, subject }), verifier, nonce, redirectUri };
};

const redeem = (body: unknown, at: ServiceInProcess = service, more: Call = {}): Promise<Answered> =>
  callHttp(at.httpPort, '/console/sign-in/oidc', {
    method: 'POST',
    body,
    ...more,
    headers: { origin: originOf(at), ...more.headers },
  });

const whoIs = async (answer: Answered, at: ServiceInProcess = service): Promise<unknown> => {
  const { token } = SignedIn.parse(answer.body);
  return (await callHttp(at.httpPort, '/api/v1/whoami', { token })).body['name'];
};

const waysAt = async (at: ServiceInProcess): Promise<SignInWays> =>
  SignInWays.parse((await callHttp(at.httpPort, '/console/sign-in')).body);

/** All tests share one source address: failures of one test must not throttle the next. */
const refusal = { status: 401, body: { code: 'APPROVALS_SIGN_IN_REFUSED' } };
const away = { status: 503, body: { code: 'RUNTIME_UNAVAILABLE' } };

describe('the page learns', () => {
  test('the page learns without a token where the sign-in is and which parameters it needs', async () => {
    const answer = await callHttp(service.httpPort, '/console/sign-in');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.body).toEqual({
      oidc: {
        name: 'Example Login',
        clientId: provider.clientId,
        scopes: ['openid', 'groups'],
        authorizationEndpoint: `${provider.issuer}/authorize`,
      },
    });
    expect(await waysAt(other)).toMatchObject({
      oidc: { name: new URL(confidential.issuer).host, scopes: ['openid'] },
    });
  });

  test('many pages at once cause one request for the metadata of the provider', async () => {
    await waysAt(service);
    const before = provider.asked.get('/.well-known/openid-configuration');
    await Promise.all(Array.from({ length: 10 }, () => waysAt(service)));
    expect(provider.asked.get('/.well-known/openid-configuration')).toBe(before);
  });
});

describe('a code', () => {
  test('a code yields a token for the person who signed in, valid for the requests of the page', async () => {
    const answer = await redeem(begin(service, provider));
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(Object.keys(answer.body)).toEqual(['token']);
    expect(await whoIs(answer)).toBe('ada');
    expect(await whoIs(await redeem(begin(service, provider, { subject: 'eve' })))).toBe('oidc:eve');
  });

  test('a confidential client redeems a code, and falls back to the access token', async () => {
    confidential.state.accessToken = { groups: ['auditors'] };
    const answer = await redeem(begin(other, confidential, { subject: 'eve' }), other);
    expect(await whoIs(answer, other)).toBe('oidc:eve');
    const { token } = SignedIn.parse(answer.body);
    expect((await callHttp(other.httpPort, '/api/v1/whoami', { token })).body['groups']).toEqual([
      'auditors',
    ]);
  });

  test('a code may name its issuer, and a wrong issuer is refused', async () => {
    expect(await redeem({ ...begin(service, provider), issuer: provider.issuer })).toMatchObject({
      status: 200,
    });
    expect(await redeem({ ...begin(service, provider), issuer: confidential.issuer })).toMatchObject(refusal);
  });

  test('a code is refused the second time', async () => {
    const code = begin(service, provider);
    expect((await redeem(code)).status).toBe(200);
    expect(await redeem(code)).toMatchObject(refusal);
  });

  test('a code is refused without the verifier of its sign-in', async () => {
    const verifier = randomBytes(32).toString('base64url');
    expect(await redeem({ ...begin(service, provider), verifier })).toMatchObject(refusal);
  });

  test('a code is refused with the nonce of another sign-in', async () => {
    const nonce = randomBytes(16).toString('base64url');
    expect(await redeem({ ...begin(service, provider), nonce })).toMatchObject(refusal);
  });

  test.each([
    ['another issuer', { iss: 'https://issuer.example' }],
    ['another client', { aud: 'another' }],
    ['another party', { aud: ['holdpoint-console', 'another'], azp: 'another' }],
    ['no nonce', { nonce: undefined }],
    ['an expiry in the past', { exp: 1 }],
    ['no usable name', { sub: 'a\u200Bb' }],
  ])('a code is refused with a token that has %s', async (_, idToken) => {
    provider.state.idToken = idToken;
    expect(await redeem(begin(service, provider))).toMatchObject(refusal);
  });

  test('a code is refused with a token under a foreign signature', async () => {
    provider.state.forged = true;
    confidential.state.forged = true;
    expect(await redeem(begin(service, provider))).toMatchObject(refusal);
    expect(await redeem(begin(other, confidential), other)).toMatchObject(refusal);
  });

  test('a code is refused with the access token of another person', async () => {
    confidential.state.accessToken = { sub: 'sub-eve' };
    expect(await redeem(begin(other, confidential), other)).toMatchObject({
      ...refusal,
      body: { message: expect.stringContaining('accepts no token of this OIDC provider') as string },
    });
  });
});

describe('a redirect is refused', () => {
  test.each([
    ['to another page', 'https://evil.example/'],
    ['to another port', 'http://127.0.0.1:1/'],
    ['to a host that only begins like the own', 'http://127.0.0.1.evil.example/'],
    ['to an address with a query', (own: string) => `${own}/?next=x`],
    ['to an address with a fragment', (own: string) => `${own}/#x`],
    ['to an address with a user name', (own: string) => own.replace('//', '//ada:pass@')],
  ])('a redirect %s is refused', async (_, uri) => {
    const redirectUri = typeof uri === 'string' ? uri : uri(originOf(service));
    const before = provider.asked.get('/token');
    expect(await redeem(begin(service, provider, { redirectUri }))).toMatchObject({
      status: 403,
      body: { code: 'APPROVALS_ORIGIN_REFUSED' },
    });
    expect(provider.asked.get('/token')).toBe(before);
  });

  test('a page cannot send the sign-in to another page', async () => {
    const redirectUri = 'https://holdpoint.example/';
    const code = begin(service, provider, { redirectUri });
    expect(await redeem(code)).toMatchObject({ status: 403 });
    expect(await redeem(code, service, { headers: { origin: 'https://holdpoint.example' } })).toMatchObject({
      status: 200,
    });
  });

  test.each(['https://evil.example', 'null'])('a page of %s cannot start a sign-in', async (origin) => {
    expect(await redeem(begin(service, provider), service, { headers: { origin } })).toMatchObject({
      status: 403,
      body: { code: 'APPROVALS_ORIGIN_REFUSED' },
    });
  });
});

test.each([
  ['nothing', {}],
  ['no code', { code: '' }],
  ['a code with a line break', { code: 'a\nb' }],
  ['an endless code', { code: 'x'.repeat(5_000) }],
  ['a short verifier', { verifier: 'x' }],
  ['an address that is no URL', { redirectUri: 'somewhere' }],
])('a malformed code is refused and not shown: %s', async (name, wrong) => {
  const answer = await redeem(name === 'nothing' ? {} : { ...begin(service, provider), ...wrong });
  expect(answer).toMatchObject({ status: 400, body: { code: 'CONTRACT_INVALID' } });
});

describe('a provider', () => {
  const FATES = ['away', 'silent', 'huge', 'redirect', 'no-json'] as const;
  test.each(FATES)('a provider that is %s during the exchange does not invalidate the code', async (fate) => {
    Object.assign(provider.state, { fate, where: 'token' });
    expect(await redeem(begin(service, provider))).toMatchObject(away);
  });

  test('a provider that does not know the client causes an error in the log, and the code stays valid', async () => {
    await writeFile(secretFile, 'another');
    await untilTrue(
      'the secret is the other one',
      async () => (await redeem(begin(other, confidential), other)).status === 503,
    );
    expect(JSON.stringify(await other.lines())).toContain('the OIDC provider returned no tokens');
    await writeFile(secretFile, CLIENT_SECRET);
    await untilTrue(
      'the secret is the right one again',
      async () => (await redeem(begin(other, confidential), other)).status === 200,
    );
  });

  /** A separate service, because the metadata of a provider is cached. */
  const approvalsWith = async (broken: OidcProvider) => {
    const approvals = await system.start('approvals', {
      HOLDPOINT_PRINCIPALS_FILE: join(system.folder, 'principals.json'),
      HOLDPOINT_OIDC_ISSUER: broken.issuer,
      HOLDPOINT_OIDC_AUDIENCE: broken.clientId,
      HOLDPOINT_OIDC_JWKS: broken.jwks,
      HOLDPOINT_OIDC_CLIENT_ID: broken.clientId,
    });
    return {
      approvals,
      stop: async () => {
        await approvals.stop();
        await broken.stop();
      },
    };
  };

  test.each([
    ...FATES.map((fate) => [`is ${fate}`, { fate, where: 'well-known' }] as const),
    ['has another name', { metadata: { issuer: 'https://issuer.example' } }],
    ['has almost the same name', (issuer: string) => ({ metadata: { issuer: `${issuer}/` } })],
    ['has a script as its sign-in address', { metadata: { authorization_endpoint: 'javascript:alert(1)' } }],
    ['has a sign-in address without TLS', { metadata: { authorization_endpoint: 'http://login.example/' } }],
    ['has a token address without TLS', { metadata: { token_endpoint: 'http://login.example/token' } }],
    ['has no token address', { metadata: { token_endpoint: undefined } }],
  ] as const)('the page offers only tokens when the provider %s', async (_, state) => {
    const broken = await startOidcProvider();
    Object.assign(broken.state, typeof state === 'function' ? state(broken.issuer) : state);
    const { approvals, stop } = await approvalsWith(broken);
    expect(await waysAt(approvals)).toEqual({
      oidc: { name: new URL(broken.issuer).host, clientId: broken.clientId, scopes: ['openid'] },
    });
    expect(await redeem(begin(approvals, broken), approvals)).toMatchObject(away);
    expect(broken.asked.get('/token')).toBeUndefined();
    const { token } = system.client;
    expect((await callHttp(approvals.httpPort, '/api/v1/whoami', { token })).status).toBe(200);
    await stop();
  });

  test('a provider that is back is used again', async () => {
    const broken = await startOidcProvider();
    Object.assign(broken.state, { fate: 'away' });
    const { approvals, stop } = await approvalsWith(broken);
    expect((await waysAt(approvals)).oidc?.authorizationEndpoint).toBeUndefined();
    mend(broken);
    await untilTrue(
      'its sign-in is found',
      async () => (await waysAt(approvals)).oidc?.authorizationEndpoint !== undefined,
    );
    expect(await whoIs(await redeem(begin(approvals, broken), approvals), approvals)).toBe('ada');
    await stop();
  });
});

test('without a client there is no sign-in and no exchange', async () => {
  const approvals = await system.start('approvals', {
    HOLDPOINT_PRINCIPALS_FILE: join(system.folder, 'principals.json'),
  });
  expect(await waysAt(approvals)).toEqual({});
  expect(await redeem(begin(approvals, provider), approvals)).toMatchObject({
    status: 404,
    body: { code: 'CONTRACT_UNKNOWN_SUBJECT' },
  });
  await approvals.stop();
});

test('repeated wrong codes are throttled, and a valid code still works', async () => {
  const codes = await Promise.all(
    Array.from({ length: 21 }, () => redeem({ ...begin(service, provider), code: 'guessed' })),
  );
  const slowed = codes.find(({ status }) => status === 429);
  expect(slowed?.body['code']).toBe('APPROVALS_TOO_MANY_ATTEMPTS');
  expect(Number(slowed?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await whoIs(await redeem(begin(service, provider)))).toBe('ada');
});

test('no log and no refusal shows a code, a token or a secret', async () => {
  const logs = JSON.stringify([await service.lines(), await other.lines()]);
  expect(logs).toContain('authentication failed');
  expect(logs).toContain('the OIDC provider returned no tokens');
  const secrets = [...provider.given, ...confidential.given, CLIENT_SECRET];
  expect(secrets.length).toBeGreaterThan(20);
  for (const secret of secrets) expect(logs).not.toContain(secret);
  for (const token of secrets.filter((each) => each.includes('.')))
    for (const part of token.split('.').slice(1)) expect(logs).not.toContain(part);
  const answer = await redeem({ ...begin(service, provider), code: 'a-code-that-nobody-gave' });
  expect(JSON.stringify(answer.body)).not.toContain('a-code-that-nobody-gave');
});
