import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@holdpoint/runtime/service/config';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../../config.ts';

let folder: string;
let jwks: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'identity-settings-'));
  jwks = join(folder, 'jwks.json');
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  await writeFile(join(folder, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await writeFile(
    join(folder, 'principals.json'),
    JSON.stringify({ principals: [{ name: 'ada', groups: ['operators'] }] }),
  );
  await writeFile(jwks, JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'a' }] }));
});
afterAll(() => rm(folder, { recursive: true }));

const read = (env: NodeJS.ProcessEnv) =>
  readConfig({
    HOLDPOINT_NATS_URL: 'nats://127.0.0.1:4222',
    HOLDPOINT_DATABASE_URL: 'postgres://hp_approvals@127.0.0.1/holdpoint',
    HOLDPOINT_TRUST_FILE: join(folder, 'trust.json'),
    HOLDPOINT_GRANT_KEY_FILE: join(folder, 'key.pem'),
    HOLDPOINT_PRINCIPALS_FILE: join(folder, 'principals.json'),
    ...env,
  });

const oidc = (): NodeJS.ProcessEnv => ({
  HOLDPOINT_OIDC_ISSUER: 'https://issuer.example/realm',
  HOLDPOINT_OIDC_AUDIENCE: 'holdpoint, other',
  HOLDPOINT_OIDC_JWKS: 'https://issuer.example/keys',
});

const problemOf = (env: NodeJS.ProcessEnv): string => {
  try {
    read(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('it was taken');
};

describe('identity without settings', () => {
  test('by default there is no issuer and operators are administrators', () => {
    expect(read({}).oidc).toBeUndefined();
    expect(read({}).env.HOLDPOINT_ADMINISTRATORS).toEqual(['operators']);
  });

  test('empty values count as unset', () => {
    const names = ['ADMINISTRATORS', 'OIDC_ISSUER', 'OIDC_AUDIENCE', 'OIDC_JWKS', 'OIDC_GROUPS_CLAIM'];
    const empty = Object.fromEntries(
      [...names, 'OIDC_NAME_CLAIM', 'OIDC_SCOPES'].map((name) => [`HOLDPOINT_${name}`, '']),
    );
    expect(read(empty).oidc).toBeUndefined();
    expect(read(empty).env.HOLDPOINT_ADMINISTRATORS).toEqual(['operators']);
    const {
      HOLDPOINT_OIDC_ISSUER: _,
      HOLDPOINT_OIDC_AUDIENCE: __,
      HOLDPOINT_OIDC_JWKS: ___,
      ...rest
    } = empty;
    expect(read({ ...rest, ...oidc() }).oidc).toMatchObject({ groupsClaim: 'groups', nameClaim: 'sub' });
  });
});

describe('an OIDC issuer', () => {
  test('an issuer has default claims and scopes', () => {
    expect(read(oidc()).oidc).toEqual({
      issuer: 'https://issuer.example/realm',
      audience: ['holdpoint', 'other'],
      jwks: 'https://issuer.example/keys',
      groupsClaim: 'groups',
      nameClaim: 'sub',
      scopes: [
        'approvals:read',
        'approvals:decide',
        'rules:write',
        'audit:read',
        'tasks:read',
        'tasks:write',
      ],
    });
  });

  test('an issuer may set claims, scopes and a key file', () => {
    const env = {
      HOLDPOINT_OIDC_JWKS: jwks,
      HOLDPOINT_OIDC_GROUPS_CLAIM: 'https://a.example/groups',
      HOLDPOINT_OIDC_NAME_CLAIM: 'email',
      HOLDPOINT_OIDC_SCOPES: 'approvals:read, tokens:write',
    };
    expect(read({ ...oidc(), ...env }).oidc).toMatchObject({
      jwks,
      groupsClaim: 'https://a.example/groups',
      nameClaim: 'email',
      scopes: ['approvals:read', 'tokens:write'],
    });
  });

  test.each(['http://127.0.0.1:8080/keys', 'http://localhost/keys', 'http://[::1]:1/keys'])(
    'keys on localhost need no TLS: %s',
    (url) => {
      expect(read({ ...oidc(), HOLDPOINT_OIDC_JWKS: url }).oidc?.jwks).toBe(url);
    },
  );

  test.each(['HOLDPOINT_OIDC_ISSUER', 'HOLDPOINT_OIDC_AUDIENCE', 'HOLDPOINT_OIDC_JWKS'])(
    'an issuer without %s is refused',
    (name) => {
      expect(problemOf({ ...oidc(), [name]: '' })).toBe(`${name}: required with the other OIDC settings`);
    },
  );
});

test.each([
  ['HOLDPOINT_OIDC_JWKS', 'http://issuer.example/keys'],
  ['HOLDPOINT_OIDC_JWKS', 'http://127.0.0.1.evil.example/keys'],
  ['HOLDPOINT_OIDC_JWKS', 'file:///etc/passwd'],
  ['HOLDPOINT_OIDC_JWKS', 'keys.json'],
  ['HOLDPOINT_OIDC_JWKS', '/nonexistent/keys.json'],
  ['HOLDPOINT_OIDC_JWKS', import.meta.filename],
  ['HOLDPOINT_OIDC_JWKS', import.meta.dirname],
  ['HOLDPOINT_OIDC_ISSUER', 'https://two words.example'],
  ['HOLDPOINT_OIDC_AUDIENCE', ' , '],
  ['HOLDPOINT_OIDC_SCOPES', 'approvals:everything'],
  ['HOLDPOINT_OIDC_NAME_CLAIM', 'c'.repeat(201)],
  ['HOLDPOINT_ADMINISTRATORS', 'ops\nroot'],
])('an invalid %s is named without its value: %s', (name, value) => {
  const problem = problemOf({ ...oidc(), [name]: value });
  expect(problem).toContain(name);
  expect(problem).not.toContain(value);
});
