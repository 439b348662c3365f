import { expect, test } from 'vitest';
import { HoldpointError } from '../values/errors.ts';
import { loginEnd, loginSecrets, type LoginText, natsLogin } from './nats-login.ts';

const NOW = Date.parse('2026-11-23T12:00:00Z');
const LINE = '-'.repeat(5);

const jwtOf = (claims: object): string =>
  ['{"typ":"JWT"}', JSON.stringify(claims), 'signature']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');
const user = { name: 'worker', sub: 'USUWORKER', nats: { type: 'user' } };
const creds = (claims: object, seed = 'SUWORKER'): string =>
  `${LINE}BEGIN NATS USER JWT${LINE}\n${jwtOf(claims)}\n-${LINE}END NATS USER JWT${LINE}\n\n` +
  `${LINE}BEGIN USER NKEY SEED${LINE}\n${seed}\n-${LINE}END USER NKEY SEED${LINE}\n`;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Stand-ins for those of the client: the public key of the seed X is `U` and X. */
const authenticators = {
  nkeyAuthenticator: (seed: Uint8Array) => () => {
    const text = new TextDecoder().decode(seed);
    if (!/^SU[A-Z]+$/.test(text)) throw new Error(`bad seed ${text}`);
    return { nkey: `U${text}` };
  },
  credsAuthenticator: (content: Uint8Array) => () => {
    const [, seed] = /SEED-+\n(SU[A-Z]+)\n/.exec(new TextDecoder().decode(content)) ?? [];
    if (seed === undefined) throw new Error('bad creds');
    return { nkey: `U${seed}` };
  },
};
const login = (content: LoginText) => natsLogin(content, authenticators, NOW);

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
  ['an nkey seed', 'SUWORKER\n'],
  ['.creds', creds(user)],
  ['.creds with line ends of Windows', creds(user).replaceAll('\n', '\r\n')],
  ['.creds without a last line end', creds(user).trimEnd()],
  ['.creds that end later', creds({ ...user, exp: NOW / 1_000 + 1 })],
  ['.creds without an end', creds({ ...user, exp: 0 })],
])('%s logs in', (_what, text) => {
  expect(login(bytes(text))('nonce')).toEqual({ nkey: 'USUWORKER' });
});

test.each([
  ['an empty file', '', 'BUS_LOGIN_INVALID'],
  ['prose', 'a sesame', 'BUS_LOGIN_INVALID'],
  ['.creds without a seed', creds(user, ''), 'BUS_LOGIN_INVALID'],
  ['.creds with the seed of another user', creds(user, 'SUSESAME'), 'BUS_LOGIN_INVALID'],
  ['.creds with the JWT of an account', creds({ ...user, nats: { type: 'account' } }), 'BUS_LOGIN_INVALID'],
  ['.creds with a broken JWT', creds(user).replace(/\n\S+\.\S+\n/, '\nsesame\n'), 'BUS_LOGIN_INVALID'],
  ['.creds that have ended', creds({ ...user, exp: NOW / 1_000 }), 'BUS_LOGIN_EXPIRED'],
  ['a file of many bytes', 'S'.repeat(65_537), 'BUS_LOGIN_INVALID'],
])('%s is refused with a code and without its content', (_what, text, code) => {
  const { code: found, message, cause } = failure(text);
  expect(found).toBe(code);
  expect(message.length).toBeLessThanOrEqual(90);
  expect(`${message} ${String(cause)}`).not.toMatch(/sesame|SUWORKER/i);
});

test('a renewed file is used by the next connection', () => {
  let text = 'SUWORKER';
  const authenticator = login(() => bytes(text));
  text = creds({ ...user, sub: 'USUOTHER' }, 'SUOTHER');
  expect(authenticator('nonce')).toEqual({ nkey: 'USUOTHER' });
});

test('a file that is half written leaves the previous login in use', () => {
  let text = 'SUWORKER';
  const authenticator = login(() => bytes(text));
  text = creds(user).slice(0, 60);
  expect(authenticator('nonce')).toEqual({ nkey: 'USUWORKER' });
});

test('only .creds can end', () => {
  expect(loginEnd(bytes('SUWORKER'))).toBeUndefined();
  expect(loginEnd(bytes(creds(user)))).toBeUndefined();
  expect(loginEnd(bytes(creds({ ...user, exp: 17 })))).toBe(17_000);
});

test('the secrets of a login are its seed and its JWT', () => {
  expect(loginSecrets('SUWORKER\n')).toEqual(['SUWORKER']);
  expect(loginSecrets(creds(user))).toEqual([jwtOf(user), 'SUWORKER']);
});
