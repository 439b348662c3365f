import { createAccount, createUser, fromPublic, type KeyPair } from '@nats-io/nkeys';
import { expect, test } from 'vitest';
import { HoldpointError } from '../values/errors.ts';
import { nkeyOf } from './nkey.ts';
import { loginSecrets, type LoginText, natsLogin } from './nats-login.ts';

const NOW = Date.parse('2026-11-23T12:00:00Z');
const LINE = '-'.repeat(5);

const textOf = (key: KeyPair): string => new TextDecoder().decode(key.getSeed());
const [worker, other] = [createUser(), createUser()];
const [SEED, OTHER_SEED] = [textOf(worker), textOf(other)];

const jwtOf = (claims: object): string =>
  ['{"typ":"JWT"}', JSON.stringify(claims), 'signature']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');
const user = { name: 'worker', sub: worker.getPublicKey(), nats: { type: 'user' } };
const creds = (claims: object, seed = SEED): string =>
  `${LINE}BEGIN NATS USER JWT${LINE}\n${jwtOf(claims)}\n-${LINE}END NATS USER JWT${LINE}\n\n` +
  `${LINE}BEGIN USER NKEY SEED${LINE}\n${seed}\n-${LINE}END USER NKEY SEED${LINE}\n`;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const login = (content: LoginText) => natsLogin(content, NOW);

const failure = (text: string): HoldpointError => {
  try {
    login(bytes(text));
  } catch (error) {
    if (error instanceof HoldpointError) return error;
    throw error;
  }
  throw new Error('the login was accepted');
};

test.each([
  ['an nkey seed', `${SEED}\n`],
  ['.creds', creds(user)],
  ['.creds with line ends of Windows', creds(user).replaceAll('\n', '\r\n')],
  ['.creds without a last line end', creds(user).trimEnd()],
  ['.creds that end later', creds({ ...user, exp: NOW / 1_000 + 1 })],
  ['.creds without an end', creds({ ...user, exp: 0 })],
])('%s logs in', (_what, text) => {
  const answer = login(bytes(text))('nonce');
  expect(answer).toEqual({
    nkey: worker.getPublicKey(),
    sig: expect.any(String) as string,
    ...(text.includes('JWT') && { jwt: /^[\w-]+\.[\w-]+\.[\w-]+(?=\r?$)/m.exec(text)?.[0] }),
  });
  expect(worker.verify(bytes('nonce'), Buffer.from(answer.sig, 'base64url'))).toBe(true);
});

test.each([
  ['an empty file', '', 'BUS_LOGIN_INVALID'],
  ['prose', 'a sesame', 'BUS_LOGIN_INVALID'],
  [
    'a seed with a wrong character',
    `${SEED.slice(0, 20)}${SEED[20] === 'A' ? 'B' : 'A'}${SEED.slice(21)}`,
    'BUS_LOGIN_INVALID',
  ],
  ['half of a seed', SEED.slice(0, 30), 'BUS_LOGIN_INVALID'],
  ['a public key', worker.getPublicKey(), 'BUS_LOGIN_INVALID'],
  ['the seed of an account', textOf(createAccount()), 'BUS_LOGIN_INVALID'],
  ['.creds without a seed', creds(user, ''), 'BUS_LOGIN_INVALID'],
  ['.creds with the seed of another user', creds(user, OTHER_SEED), 'BUS_LOGIN_INVALID'],
  ['.creds with the JWT of an account', creds({ ...user, nats: { type: 'account' } }), 'BUS_LOGIN_INVALID'],
  ['.creds with a broken JWT', creds(user).replace(/\n\S+\.\S+\n/, '\nsesame\n'), 'BUS_LOGIN_INVALID'],
  ['.creds that have ended', creds({ ...user, exp: NOW / 1_000 }), 'BUS_LOGIN_EXPIRED'],
  ['a file of many bytes', 'S'.repeat(65_537), 'BUS_LOGIN_INVALID'],
])('%s is refused with a code and without its content', (_what, text, code) => {
  const { code: found, message, cause } = failure(text);
  expect(found).toBe(code);
  expect(message.length).toBeLessThanOrEqual(90);
  const shown = `${message} ${String(cause)}`;
  expect(shown).not.toMatch(/sesame/i);
  for (const part of [SEED.slice(0, 12), SEED.slice(30), OTHER_SEED.slice(0, 12)])
    expect(shown).not.toContain(part);
});

test('a renewed file is used by the next connection', () => {
  let text = SEED;
  const answer = login(() => bytes(text));
  text = creds({ ...user, sub: other.getPublicKey() }, OTHER_SEED);
  expect(answer('nonce').nkey).toBe(other.getPublicKey());
});

test('a file that is half written leaves the previous login in use', () => {
  let text = SEED;
  const answer = login(() => bytes(text));
  text = creds(user).slice(0, 60);
  expect(answer('nonce').nkey).toBe(worker.getPublicKey());
});

test('the secrets of a login are its seed and its JWT', () => {
  expect(loginSecrets(`${SEED}\n`)).toEqual([SEED]);
  expect(loginSecrets(creds(user))).toEqual([jwtOf(user), SEED]);
});

test('keys of users and accounts have the public key and the signatures of the NATS library', () => {
  for (const key of [createUser, createAccount].flatMap((create) => Array.from({ length: 5 }, create))) {
    const { publicKey, sign } = nkeyOf(textOf(key));
    expect(publicKey).toBe(key.getPublicKey());
    expect(fromPublic(publicKey).verify(bytes('nonce'), sign(bytes('nonce')))).toBe(true);
  }
});
