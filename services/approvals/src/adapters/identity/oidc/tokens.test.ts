import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import {
  createLocalJWKSet,
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JSONWebKeySet,
  type JWTPayload,
  SignJWT,
} from 'jose';
import { afterEach, describe, expect, test } from 'vitest';
import { createDirectory } from '../principals/directory.ts';
import { createOidcKeys } from './keys.ts';
import { createOidcTokens, looksLikeJwt, personOf } from './tokens.ts';

const ISSUER = 'https://issuer.example';
const AUDIENCE = 'holdpoint';

type Key = {
  readonly alg: string;
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
};
const newKey = async (kid: string, alg = 'ES256'): Promise<Key> => ({
  alg,
  kid,
  ...(await generateKeyPair(alg, { extractable: true })),
});
const jwksOf = async (...keys: readonly Key[]): Promise<JSONWebKeySet> => ({
  keys: await Promise.all(keys.map(async ({ kid, publicKey }) => ({ ...(await exportJWK(publicKey)), kid }))),
});

const now = (): number => Math.floor(Date.now() / 1_000);
const usual = (): JWTPayload => ({ iss: ISSUER, aud: AUDIENCE, sub: 's-1', iat: now(), exp: now() + 300 });
const signed = ({ alg, kid, privateKey }: Key, claims: JWTPayload, header: object = {}): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);

const first = await newKey('first');
const rsa = await newKey('rsa', 'RS256');
const stranger = await newKey('first');
const settings = { issuer: ISSUER, audience: ['elsewhere', AUDIENCE] };
const tokens = createOidcTokens(settings, createLocalJWKSet(await jwksOf(first, rsa)));

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('an OIDC token', () => {
  test.each([
    ['ES256', first],
    ['RS256', rsa],
  ])('a valid token signed with %s yields its claims', async (_, key) => {
    const claims = usual();
    expect(await tokens.claimsOf(await signed(key, claims))).toEqual(claims);
  });

  test('small clock differences are tolerated', async () => {
    const claims = { ...usual(), nbf: now() + 20, exp: now() - 20 };
    expect(await tokens.claimsOf(await signed(first, claims))).toEqual(claims);
  });

  test('a token without a key id is tried with each matching key', async () => {
    const second = await newKey('second');
    const several = createOidcTokens(settings, createLocalJWKSet(await jwksOf(first, second)));
    const unnamed = await new SignJWT(usual()).setProtectedHeader({ alg: 'ES256' }).sign(second.privateKey);
    expect(await several.claimsOf(unnamed)).toMatchObject({ sub: 's-1' });
    const foreign = await new SignJWT(usual()).setProtectedHeader({ alg: 'ES256' }).sign(stranger.privateKey);
    expect(await several.claimsOf(foreign)).toBeUndefined();
    const late = await new SignJWT({ ...usual(), exp: now() - 100 })
      .setProtectedHeader({ alg: 'ES256' })
      .sign(second.privateKey);
    expect(await several.claimsOf(late)).toBeUndefined();
  });

  test.each<[string, object]>([
    ['another issuer', { iss: `${ISSUER}/` }],
    ['no issuer', { iss: undefined }],
    ['another audience', { aud: 'holdpoint-2' }],
    ['no audience', { aud: undefined }],
    ['an end that has passed', { exp: now() - 60 }],
    ['no end', { exp: undefined }],
    ['an end that is no number', { exp: 'tomorrow' }],
    ['a beginning to come', { nbf: now() + 120 }],
    ['no subject', { sub: undefined }],
  ])('a token with %s is invalid', async (_, claims) => {
    expect(await tokens.claimsOf(await signed(first, { ...usual(), ...claims }))).toBeUndefined();
  });

  test('a token signed with another key of the same id is invalid', async () => {
    expect(await tokens.claimsOf(await signed(stranger, usual()))).toBeUndefined();
  });

  test('a token with an unknown key id is invalid', async () => {
    expect(await tokens.claimsOf(await signed({ ...first, kid: 'third' }, usual()))).toBeUndefined();
  });

  test('a token with algorithm none is invalid', async () => {
    for (const alg of ['none', 'None', 'NONE'])
      expect(await tokens.claimsOf(`${part({ alg })}.${part(usual())}.`)).toBeUndefined();
  });

  test('a token signed with the public key as HMAC secret is invalid', async () => {
    const secrets = [
      await exportSPKI(rsa.publicKey),
      JSON.stringify(await exportJWK(rsa.publicKey)),
      (await exportSPKI(rsa.publicKey)).trim(),
    ];
    for (const secret of secrets) {
      const text = `${part({ alg: 'HS256', kid: 'rsa' })}.${part(usual())}`;
      const signature = createHmac('sha256', secret).update(text).digest('base64url');
      expect(await tokens.claimsOf(`${text}.${signature}`)).toBeUndefined();
    }
  });

  test('a token with altered claims is invalid', async () => {
    const [header = '', , signature = ''] = (await signed(first, usual())).split('.');
    expect(
      await tokens.claimsOf(`${header}.${part({ ...usual(), sub: 's-2' })}.${signature}`),
    ).toBeUndefined();
  });

  test.each([
    '..',
    'a.b.c',
    'e30.e30.',
    'e30.e30.e30',
    `${part({ alg: 'ES256', crit: ['x'], x: 1 })}.e30.AA`,
  ])('%j is no valid token', async (text) => {
    expect(await tokens.claimsOf(text)).toBeUndefined();
  });
});

test.each([
  ['hpt_abc', false],
  ['a.b', false],
  ['a.b.c', true],
  ['a.b.', true],
  ['a.b.c.d', false],
])('%s looks like a JWT: %s', (token, like) => {
  expect(looksLikeJwt(token)).toBe(like);
});

describe('the person of an OIDC token', () => {
  const directory = createDirectory([{ name: 'ada', groups: ['operators'], roles: ['lead'], oidc: 's-ada' }]);
  const scopes = ['approvals:read'] as const;
  const named = { groupsClaim: 'groups', nameClaim: 'sub', scopes };

  test('a person in the directory keeps the directory’s name and groups', () => {
    const claims = { sub: 's-ada', groups: ['admins', '\n'] };
    expect(personOf(claims, named, directory)).toEqual({
      name: 'ada',
      groups: ['operators'],
      roles: ['lead'],
      scopes,
    });
  });

  test('other people have prefixed names that never collide with the directory', () => {
    expect(personOf({ sub: 'ada', groups: ['a', 'b', 'a'] }, named, directory)).toEqual({
      name: 'oidc:ada',
      groups: ['a', 'b'],
      scopes,
    });
    expect(personOf({ sub: 'x' }, named, directory)).toEqual({ name: 'oidc:x', groups: [], scopes });
  });

  test('the configured claims name a person; only the subject identifies them', () => {
    const other = { groupsClaim: 'https://a.example/teams', nameClaim: 'email', scopes };
    const claims = { sub: 's-1', email: 's-ada', 'https://a.example/teams': 'one' };
    expect(personOf(claims, other, directory)).toEqual({ name: 'oidc:s-ada', groups: ['one'], scopes });
    expect(personOf({ sub: 's-1' }, other, directory)).toBeUndefined();
    expect(personOf({ sub: 's-1' }, { ...other, nameClaim: 'toString' }, directory)).toBeUndefined();
  });

  test('groups that look like a person or role are dropped', () => {
    const groups = ['user:ada', 'role:lead', 'GROUP:x', 'fine', 'app:fine'];
    expect(personOf({ sub: 'x', groups }, named, directory)?.groups).toEqual(['fine', 'app:fine']);
  });

  test.each<[string, object]>([
    ['groups without number', { groups: Array.from({ length: 201 }, (_, i) => `g${String(i)}`) }],
    ['a group without end', { groups: ['x'.repeat(101)] }],
    ['a group of two lines', { groups: ['a\nb'] }],
    ['a group that is empty', { groups: [''] }],
    ['groups that are no texts', { groups: [1] }],
    ['groups that are none', { groups: { a: 1 } }],
    ['a name without end', { sub: 'x'.repeat(191) }],
    ['a name that cannot be seen', { sub: '\u200b' }],
    ['a name with an escape sequence', { sub: '\u001b[2J' }],
    ['a name that is no text', { sub: 7 }],
  ])('a token with %s belongs to nobody', (_, claims) => {
    expect(personOf({ sub: 'x', ...claims }, named, directory)).toBeUndefined();
  });
});

describe('fetched keys', () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });
  const served = async (answer: () => { status?: number; body: string }) => {
    let asked = 0;
    server = createServer((_, response) => {
      asked += 1;
      const { status = 200, body } = answer();
      response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end(body);
    });
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/jwks`;
    const keys = createOidcKeys(url, silentLogger(), () => 0);
    return { ...createOidcTokens(settings, keys.keyOf), asked: () => asked };
  };

  test('keys are fetched once for many tokens, also for unknown key ids', async () => {
    const body = JSON.stringify(await jwksOf(first));
    const remote = await served(() => ({ body }));
    expect(await remote.claimsOf(await signed(first, usual()))).toMatchObject({ sub: 's-1' });
    for (let i = 0; i < 20; i += 1)
      expect(
        await remote.claimsOf(await signed({ ...first, kid: `k${String(i)}` }, usual())),
      ).toBeUndefined();
    expect(await remote.claimsOf(await signed(first, usual()))).toMatchObject({ sub: 's-1' });
    expect(remote.asked()).toBe(1);
  });

  test.each([
    ['missing', { status: 404, body: '' }],
    ['redirected', { status: 302, body: '' }],
    ['not JSON', { body: '<html>' }],
    ['not a key set', { body: '{"keys":"none"}' }],
    ['too long', { body: `{"keys":[],"more":"${'x'.repeat(300_000)}"}` }],
  ])(
    'keys that are %s make tokens unverifiable rather than invalid, and are not fetched again at once',
    async (_, answer) => {
      const remote = await served(() => answer);
      const token = await signed(first, usual());
      for (let i = 0; i < 5; i += 1)
        await expect(remote.claimsOf(token)).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
      expect(remote.asked()).toBe(1);
    },
  );

  test('unreachable keys make tokens unverifiable rather than invalid', async () => {
    const keys = createOidcKeys('http://127.0.0.1:1/jwks', silentLogger());
    const remote = createOidcTokens(settings, keys.keyOf);
    await expect(remote.claimsOf(await signed(first, usual()))).rejects.toMatchObject({
      code: 'RUNTIME_UNAVAILABLE',
    });
  });

  test('a key set with a private key is refused', async () => {
    const { keys } = await jwksOf(first);
    const body = JSON.stringify({ keys: [{ ...(await exportJWK(first.privateKey)), kid: keys[0]?.kid }] });
    const remote = await served(() => ({ body }));
    await expect(remote.claimsOf(await signed(first, usual()))).rejects.toMatchObject({
      code: 'RUNTIME_UNAVAILABLE',
    });
  });
});
