import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { OidcCode } from '@holdpoint/contracts/approval/sign-in';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { expect, test } from 'vitest';
import { createAttempts, FAILURES_MAX } from '../attempts.ts';
import type { Metadata, Tokens } from '../oidc/provider.ts';
import { createSignIn, type SignInParts } from './sign-in.ts';

const settings = {
  issuer: 'https://issuer.example',
  clientId: 'console',
  secretFile: undefined,
  scopes: ['openid'],
  name: 'Example Login',
};
const code: OidcCode = {
  code: 'c',
  verifier: 'v'.repeat(43),
  nonce: 'n',
  redirectUri: 'https://console.example/',
};
const given: Tokens = { idToken: 'id-token-of-ada', accessToken: 'access-token-of-ada' };

/** Tokens end with their subject; `taken` lists those that Holdpoint accepts. */
const signInWith = (more: Partial<SignInParts> = {}, taken: readonly string[] = Object.values(given)) => {
  const attempts = createAttempts(silentLogger(), () => 0);
  const signIn = createSignIn({
    settings,
    provider: {
      metadata: () =>
        Promise.resolve({ authorization_endpoint: 'https://issuer.example/login' } as unknown as Metadata),
      redeem: () => Promise.resolve(given),
    },
    idTokens: { claimsOf: (token) => Promise.resolve({ sub: token.replace(/.*-/, '') }) },
    subjectOf: (token) => Promise.resolve(taken.includes(token) ? token.replace(/.*-/, '') : undefined),
    attempts,
    log: silentLogger(),
    ...more,
  });
  return { ...signIn, attempts };
};

const codeOf = async (asked: Promise<unknown>): Promise<string | undefined> => {
  try {
    await asked;
    return undefined;
  } catch (error) {
    if (error instanceof HoldpointError) return error.code;
    throw error;
  }
};

test('a sign-in returns the ID token', async () => {
  expect(await signInWith().redeem(code, 'here')).toEqual({ token: given.idToken });
});

test('a sign-in returns the access token when the ID token is not accepted', async () => {
  expect(await signInWith({}, [given.accessToken]).redeem(code, 'here')).toEqual({
    token: given.accessToken,
  });
});

test('a sign-in with no accepted token reports a configuration problem and counts no failure', async () => {
  const signIn = signInWith({}, []);
  for (let i = 0; i <= FAILURES_MAX; i += 1)
    await expect(signIn.redeem(code, 'here')).rejects.toThrow('check the OIDC settings');
  expect(signIn.attempts.counted()).toContainEqual({ labels: { kind: 'oidc' }, value: FAILURES_MAX + 1 });
});

test('a token that is too long for a header is not returned', async () => {
  const idToken = `${'x'.repeat(9_000)}-ada`;
  const provider = {
    metadata: () => Promise.reject(new Error('not asked')),
    redeem: () => Promise.resolve({ ...given, idToken }),
  };
  const signIn = signInWith({ provider }, [idToken, given.accessToken]);
  expect(await signIn.redeem(code, 'here')).toEqual({ token: given.accessToken });
});

test('an access token of another subject is not returned', async () => {
  const accessToken = 'access-token-of-eve';
  const provider = {
    metadata: () => Promise.reject(new Error('not asked')),
    redeem: () => Promise.resolve({ ...given, accessToken }),
  };
  expect(await codeOf(signInWith({ provider }, [accessToken]).redeem(code, 'here'))).toBe(
    'APPROVALS_SIGN_IN_REFUSED',
  );
});

test.each([
  ['the provider rejects', { provider: { redeem: () => Promise.resolve(undefined) } }],
  ['yields an invalid token', { idTokens: { claimsOf: () => Promise.resolve(undefined) } }],
])('a code that %s is refused, and many of them slow down their source', async (_, more) => {
  const signIn = signInWith(more as Partial<SignInParts>);
  for (let i = 0; i < FAILURES_MAX; i += 1)
    expect(await codeOf(signIn.redeem(code, 'here'))).toBe('APPROVALS_SIGN_IN_REFUSED');
  expect(await codeOf(signIn.redeem(code, 'here'))).toBe('APPROVALS_TOO_MANY_ATTEMPTS');
  expect(await codeOf(signIn.redeem(code, 'elsewhere'))).toBe('APPROVALS_SIGN_IN_REFUSED');
});

test('an unavailable provider counts no failure', async () => {
  const away = () => Promise.reject(new HoldpointError('RUNTIME_UNAVAILABLE', 'away'));
  const signIn = signInWith({ provider: { metadata: away, redeem: away } });
  expect(await codeOf(signIn.redeem(code, 'here'))).toBe('RUNTIME_UNAVAILABLE');
  expect(await signIn.ways()).toEqual({
    oidc: { name: 'Example Login', clientId: 'console', scopes: ['openid'] },
  });
  expect(signIn.attempts.counted()).toContainEqual({ labels: { kind: 'oidc' }, value: 0 });
});

test('concurrent sign-ins are limited, and their slots are released', async () => {
  const open: (() => void)[] = [];
  const provider = {
    metadata: () => Promise.reject(new Error('not asked')),
    redeem: () => new Promise<Tokens>((resolve) => open.push(() => resolve(given))),
  };
  const signIn = signInWith({ provider });
  const all = Array.from({ length: 20 }, () => codeOf(signIn.redeem(code, 'here')));
  expect(open).toHaveLength(16);
  for (const answer of open) answer();
  const codes = await Promise.all(all);
  expect(codes.filter((each) => each === undefined)).toHaveLength(16);
  expect(codes.filter((each) => each === 'RUNTIME_UNAVAILABLE')).toHaveLength(4);
  const after = signIn.redeem(code, 'here');
  open.at(-1)?.();
  expect(await after).toEqual({ token: given.idToken });
});
