import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@holdpoint/runtime/service/config';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SignInEnv, signInSettings } from './settings.ts';

let folder: string;
let secretFile: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sign-in-settings-'));
  secretFile = join(folder, 'secret');
  await writeFile(secretFile, 'hunter2\n');
});
afterAll(() => rm(folder, { recursive: true }));

const ISSUER = 'https://issuer.example/realm';
const read = (env: Readonly<Record<string, string>>, issuer: string | undefined = ISSUER) =>
  signInSettings(SignInEnv.parse(env), issuer === '' ? undefined : { issuer });

test('nobody signs in by a login when there is no client, or it is left empty', () => {
  expect(read({})).toBeUndefined();
  expect(
    read({
      HOLDPOINT_OIDC_CLIENT_ID: '',
      HOLDPOINT_OIDC_CLIENT_SECRET_FILE: '',
      HOLDPOINT_OIDC_CLIENT_SCOPES: '',
      HOLDPOINT_OIDC_PROVIDER_NAME: '',
    }),
  ).toBeUndefined();
});

test('a client is taken with what is usual beside it', () => {
  expect(read({ HOLDPOINT_OIDC_CLIENT_ID: 'console' })).toEqual({
    issuer: ISSUER,
    clientId: 'console',
    secretFile: undefined,
    scopes: ['openid'],
    name: 'issuer.example',
  });
});

test('a client is taken with a secret, scopes and a name of its own', () => {
  expect(
    read({
      HOLDPOINT_OIDC_CLIENT_ID: 'console',
      HOLDPOINT_OIDC_CLIENT_SECRET_FILE: secretFile,
      HOLDPOINT_OIDC_CLIENT_SCOPES: 'openid, groups',
      HOLDPOINT_OIDC_PROVIDER_NAME: 'Example Login',
    }),
  ).toMatchObject({ secretFile, scopes: ['openid', 'groups'], name: 'Example Login' });
});

test.each(['http://127.0.0.1:8080/realm', 'http://localhost'])(
  'a provider of this machine needs no TLS: %s',
  (issuer) => {
    expect(read({ HOLDPOINT_OIDC_CLIENT_ID: 'console' }, issuer)).toMatchObject({ issuer });
  },
);

test.each([
  'http://issuer.example',
  'issuer.example',
  'https://issuer.example/?a',
  'https://issuer.example/#a',
])('people are sent to no issuer that could not be trusted, or asked: %s', (issuer) => {
  expect(() => read({ HOLDPOINT_OIDC_CLIENT_ID: 'console' }, issuer)).toThrow(/^HOLDPOINT_OIDC_ISSUER: /);
});

test('a client without its issuer, and a secret without its client, are named', () => {
  expect(() => read({ HOLDPOINT_OIDC_CLIENT_ID: 'console' }, '')).toThrow(
    'HOLDPOINT_OIDC_ISSUER: required with HOLDPOINT_OIDC_CLIENT_ID',
  );
  expect(() => read({ HOLDPOINT_OIDC_CLIENT_SECRET_FILE: secretFile })).toThrow(
    'HOLDPOINT_OIDC_CLIENT_ID: required with HOLDPOINT_OIDC_CLIENT_SECRET_FILE',
  );
});

test.each([
  ['HOLDPOINT_OIDC_CLIENT_ID', 'two words'],
  ['HOLDPOINT_OIDC_CLIENT_SCOPES', 'groups'],
  ['HOLDPOINT_OIDC_CLIENT_SCOPES', 'openid,"quoted"'],
  ['HOLDPOINT_OIDC_PROVIDER_NAME', 'turned\u202Earound'],
])('a wrong %s is named: %j', (name, value) => {
  const { error } = SignInEnv.safeParse({ HOLDPOINT_OIDC_CLIENT_ID: 'console', [name]: value });
  expect(error?.issues.map(({ path }) => path)).toEqual([[name]]);
});

test('a file without a secret is named, and not shown', async () => {
  for (const [name, text] of [
    ['empty', ''],
    ['two-lines', 'one-half\nother-half'],
  ] as const) {
    const path = join(folder, name);
    await writeFile(path, text);
    const reading = () =>
      read({ HOLDPOINT_OIDC_CLIENT_ID: 'console', HOLDPOINT_OIDC_CLIENT_SECRET_FILE: path });
    expect(reading).toThrow(ConfigError);
    expect(reading).toThrow(/^HOLDPOINT_OIDC_CLIENT_SECRET_FILE: the file contains no client secret$/);
  }
  expect(() =>
    read({
      HOLDPOINT_OIDC_CLIENT_ID: 'console',
      HOLDPOINT_OIDC_CLIENT_SECRET_FILE: join(folder, 'nowhere'),
    }),
  ).toThrow(/^HOLDPOINT_OIDC_CLIENT_SECRET_FILE: the file cannot be read$/);
});
