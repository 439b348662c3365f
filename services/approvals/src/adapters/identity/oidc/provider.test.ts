import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OidcCode } from '@holdpoint/contracts/approval/sign-in';
import { recordedLog } from '@holdpoint/runtime/testing/recorded-log';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createOidcProvider, type OidcProvider } from './provider.ts';

// Integration tests cover the whole sign-in. These cover logs and client authentication.

const SECRET = 'the-secret-of-the-client';
const code: OidcCode = {
  code: 'a-code-that-nobody-may-see',
  verifier: 'v'.repeat(43),
  nonce: 'n',
  redirectUri: 'https://console.example/',
};

let server: Server;
let issuer: string;
let metadata: Readonly<Record<string, unknown>>;
let answer: { readonly status: number; readonly body: object };
let asked: { readonly authorization: string | undefined; readonly form: URLSearchParams }[];
let log: ReturnType<typeof recordedLog>;
let time: number;
beforeEach(async () => {
  [metadata, asked, log, time] = [{}, [], recordedLog(), 0];
  answer = { status: 400, body: { error: 'invalid_grant', error_description: `no such code: ${code.code}` } };
  // Debug messages must not contain secrets either.
  Object.assign(log.log, { debug: log.log.warn });
  server = createServer((request, response) => {
    const send = (status: number, body: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.method === 'GET')
      return send(200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        ...metadata,
      });
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      asked.push({ authorization: request.headers.authorization, form: new URLSearchParams(text) });
      send(answer.status, answer.body);
    });
    return undefined;
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const providerWith = (secret?: string): OidcProvider =>
  createOidcProvider(
    { issuer, clientId: 'console' },
    () => secret,
    log.log,
    () => time,
  );
const written = (): string => JSON.stringify(log.lines);

test('the log contains the reason of a refused code, but not the code', async () => {
  expect(await providerWith(SECRET).redeem(code)).toBeUndefined();
  expect(written()).toContain('"said":"invalid_grant"');
  expect(written()).not.toMatch(new RegExp(`${code.code}|${code.verifier}|${SECRET}|no such`));
});

test('free-text errors of the provider are not logged', async () => {
  answer = { status: 400, body: { error: `invalid ${code.code}` } };
  await expect(providerWith(SECRET).redeem(code)).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
  expect(log.lines).toHaveLength(1);
  expect(written()).not.toContain(code.code);
});

test('invalid tokens are not logged', async () => {
  answer = {
    status: 200,
    body: { token_type: 'Bearer', access_token: 'an-access-token', id_token: 'an.id.token' },
  };
  await expect(providerWith().redeem(code)).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
  expect(log.lines).toHaveLength(1);
  expect(written()).not.toMatch(/an-access-token|an\.id\.token/);
});

test('failures of the provider are logged at most once a second', async () => {
  answer = { status: 500, body: {} };
  const provider = providerWith();
  for (const at of [0, 1, 999, 1_000, 1_001]) {
    time = at;
    await expect(provider.redeem(code)).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
  }
  expect(log.lines).toHaveLength(2);
});

test.each([
  ['with a header by default', SECRET, undefined, 'Basic'],
  ['with a header when both are supported', SECRET, ['client_secret_post', 'client_secret_basic'], 'Basic'],
  ['in the form when only that is supported', SECRET, ['client_secret_post'], 'form'],
  ['by its id alone when it has no secret', undefined, ['client_secret_basic'], 'none'],
])('the client authenticates %s', async (_, secret, ways, way) => {
  metadata = { token_endpoint_auth_methods_supported: ways };
  await providerWith(secret).redeem(code);
  const [{ authorization, form }] = asked as [(typeof asked)[number]];
  expect(authorization?.startsWith('Basic ') ?? false).toBe(way === 'Basic');
  expect(form.get('client_secret')).toBe(way === 'form' ? SECRET : null);
  expect(form.get('client_id')).toBe(way === 'Basic' ? null : 'console');
  expect(Object.fromEntries(form)).toMatchObject({
    grant_type: 'authorization_code',
    code: code.code,
    code_verifier: code.verifier,
    redirect_uri: code.redirectUri,
  });
});

test('metadata of the provider is cached and then fetched again', async () => {
  const provider = providerWith();
  expect((await provider.metadata()).authorization_endpoint).toBe(`${issuer}/authorize`);
  metadata = { authorization_endpoint: `${issuer}/moved` };
  time = 599_999;
  expect((await provider.metadata()).authorization_endpoint).toBe(`${issuer}/authorize`);
  time = 600_000;
  expect((await provider.metadata()).authorization_endpoint).toBe(`${issuer}/moved`);
});
