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

test('the sign-in is off without a client id', () => {
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

test('a client has default scopes and a default name', () => {
  expect(read({ HOLDPOINT_OIDC_CLIENT_ID: 'console' })).toEqual({
    issuer: ISSUER,
    clientId: 'console',
    secretFile: undefined,
    scopes: ['openid'],
    name: 'issuer.example',
  });
});

test('a client may set a secret, scopes and a name', () => {
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
])('an insecure issuer URL is refused: %s', (issuer) => {
  expect(() => read({ HOLDPOINT_OIDC_CLIENT_ID: 'console' }, issuer)).toThrow(/^HOLDPOINT_OIDC_ISSUER: /);
});

test('a client without an issuer and a secret without a client are refused', () => {
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
])('an invalid %s is refused: %j', (name, value) => {
  const { error } = SignInEnv.safeParse({ HOLDPOINT_OIDC_CLIENT_ID: 'console', [name]: value });
  expect(error?.issues.map(({ path }) => path)).toEqual([[name]]);
});

test('a file without a secret is refused without showing its content', async () => {
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
