import { generateKeyPairSync } from 'node:crypto';
import { IDENTITY_HEADER, IDENTITY_MS, IDENTITY_TOLERANCE_MS } from '@holdpoint/contracts/approval/identity';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { describe, expect, test } from 'vitest';
import { createIdentityVerifier, requirePerson } from './identity.ts';
import { createSigner, createVerifier } from './jws.ts';

const [ours, theirs] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
const NOW = 1_800_000_000_000;
const iat = NOW / 1_000;
const claims = {
  use: 'identity',
  sub: 'ada',
  groups: ['operators'],
  roles: [],
  scopes: ['tasks:submit'],
  iat,
  exp: iat + IDENTITY_MS / 1_000,
};
const sign = createSigner(ours.privateKey);
let verifications = 0;
const check = (mayLearn = false) => {
  verifications = 0;
  const verify = createVerifier([ours.publicKey]);
  return createIdentityVerifier({
    verify: (token) => {
      verifications += 1;
      return verify(token);
    },
    mayLearnKeyOf: () => mayLearn,
  });
};
const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof HoldpointError) return error.code;
    throw error;
  }
  return 'accepted';
};

test('a signed identity names its person, groups and scopes', () => {
  expect(check()(sign(claims), 'tasks:submit', NOW)).toEqual({
    sub: 'ada',
    groups: ['operators'],
    roles: [],
    scopes: ['tasks:submit'],
  });
});

describe('an identity that does not count', () => {
  const [header, , signature] = sign(claims).split('.');
  const changed = Buffer.from(JSON.stringify({ ...claims, sub: 'grace' })).toString('base64url');
  test.each<[string, string]>([
    ['of another key', createSigner(theirs.privateKey)(claims)],
    ['changed after it was signed', [header, changed, signature].join('.')],
    ['a grant', sign({ ...claims, use: 'grant' })],
    ['without a use', sign({ ...claims, use: undefined })],
    ['without a person', sign({ ...claims, sub: '' })],
    ['of an unknown scope', sign({ ...claims, scopes: ['everything'] })],
    ['no token', 'ada'],
    ['an empty text', ''],
    ['a text that is too long', `${sign(claims)}${'a'.repeat(70_000)}`],
    [
      'unsigned',
      [
        Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url'),
        Buffer.from(JSON.stringify(claims)).toString('base64url'),
        '',
      ].join('.'),
    ],
  ])('%s is refused', (_, assertion) => {
    expect(codeOf(() => check()(assertion, 'tasks:submit', NOW))).toBe('IDENTITY_INVALID');
  });

  test('a key that may become known defers the identity', () => {
    const stranger = createSigner(theirs.privateKey)(claims);
    expect(codeOf(() => check(true)(stranger, 'tasks:submit', NOW))).toBe('RUNTIME_UNAVAILABLE');
  });

  test('a token without the scope is refused', () => {
    expect(codeOf(() => check()(sign(claims), 'tasks:write', NOW))).toBe('IDENTITY_SCOPE');
  });

  test('a lifetime beyond the limit is refused', () => {
    const long = sign({ ...claims, exp: claims.exp + 1 });
    expect(codeOf(() => check()(long, 'tasks:submit', NOW))).toBe('IDENTITY_EXPIRED');
  });
});

describe('a request that only a person may send', () => {
  const requestWith = (assertion?: string) => () =>
    requirePerson(check(), (name) => (name === IDENTITY_HEADER ? assertion : undefined), 'tasks:submit', NOW);

  test('a signed identity of a person is accepted', () => {
    expect(requestWith(sign(claims))().sub).toBe('ada');
  });

  test('a request without an identity, or of an agent, is refused', () => {
    expect(codeOf(requestWith())).toBe('IDENTITY_REQUIRED');
    expect(codeOf(requestWith(sign({ ...claims, agent: 'bot' })))).toBe('IDENTITY_REQUIRED');
  });

  test('an identity that does not count is refused', () => {
    expect(codeOf(requestWith('ada'))).toBe('IDENTITY_INVALID');
    expect(codeOf(requestWith(sign({ ...claims, scopes: ['tasks:read'] })))).toBe('IDENTITY_SCOPE');
  });
});

test.each([
  [-IDENTITY_TOLERANCE_MS - 1, 'IDENTITY_EXPIRED'],
  [-IDENTITY_TOLERANCE_MS, 'accepted'],
  [IDENTITY_MS + IDENTITY_TOLERANCE_MS - 1, 'accepted'],
  [IDENTITY_MS + IDENTITY_TOLERANCE_MS, 'IDENTITY_EXPIRED'],
])('%d ms after its signature an identity is %s', (ms, code) => {
  expect(codeOf(() => check()(sign(claims), 'tasks:submit', NOW + ms))).toBe(code);
});

test('a repeated identity is verified once, and its time and scope each time', () => {
  const verifyIdentity = check();
  const assertion = sign(claims);
  for (let i = 0; i < 5; i += 1) verifyIdentity(assertion, 'tasks:submit', NOW);
  expect(verifications).toBe(1);
  expect(codeOf(() => verifyIdentity(assertion, 'tasks:write', NOW))).toBe('IDENTITY_SCOPE');
  expect(codeOf(() => verifyIdentity(assertion, 'tasks:submit', NOW + 2 * IDENTITY_MS))).toBe(
    'IDENTITY_EXPIRED',
  );
  expect(verifications).toBe(1);
});
