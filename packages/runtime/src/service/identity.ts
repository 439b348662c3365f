import type { Scope } from '@holdpoint/contracts/approval/access-token';
import {
  IDENTITY_HEADER,
  IDENTITY_MAX,
  IDENTITY_MS,
  IDENTITY_TOLERANCE_MS,
  IdentityClaims,
} from '@holdpoint/contracts/approval/identity';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { TrustedKeys } from './trusted-keys.ts';

/** Assertions remembered as verified. */
const REMEMBERED_MAX = 1_000;

/** Who sends a command, as approvals has stated it. */
export type Identity = Omit<IdentityClaims, 'use' | 'iat' | 'exp'>;

/**
 * Verifies the assertion of a command that arrived at `at`, in epoch milliseconds. Throws `IDENTITY_INVALID`,
 * `IDENTITY_EXPIRED` or `IDENTITY_SCOPE`, and `RUNTIME_UNAVAILABLE` while its key is not known.
 */
export type VerifyIdentity = (assertion: string, scope: Scope, at: number) => Identity;

/**
 * The verified person who sends a request at `at`, in epoch milliseconds. Throws `IDENTITY_REQUIRED` for an agent and
 * without an assertion, and like {@link VerifyIdentity}.
 */
export const requirePerson = (
  verify: VerifyIdentity,
  header: (name: string) => string | undefined,
  scope: Scope,
  at: number,
): Identity => {
  const assertion = header(IDENTITY_HEADER);
  const identity = assertion === undefined ? undefined : verify(assertion, scope, at);
  if (identity === undefined || identity.agent !== undefined) {
    const sender = identity === undefined ? 'the sender is unverified' : 'the sender is an agent';
    throw new HoldpointError('IDENTITY_REQUIRED', `${sender}: a person needs a token of scope ${scope}`);
  }
  return identity;
};

/** Verifies offline, with the keys of approvals. Each assertion is verified once. */
export const createIdentityVerifier = ({
  verify,
  mayLearnKeyOf,
}: Pick<TrustedKeys, 'verify' | 'mayLearnKeyOf'>): VerifyIdentity => {
  const verified = new Map<string, IdentityClaims>();

  const claimsOf = (assertion: string): IdentityClaims => {
    const known = verified.get(assertion);
    if (known !== undefined) return known;
    const { data } =
      assertion.length <= IDENTITY_MAX ? IdentityClaims.safeParse(verify(assertion)) : { data: undefined };
    if (data === undefined) {
      if (assertion.length <= IDENTITY_MAX && mayLearnKeyOf(assertion))
        throw new HoldpointError(
          'RUNTIME_UNAVAILABLE',
          'the key of this identity is not known yet; try again',
        );
      throw new HoldpointError('IDENTITY_INVALID', 'approvals has not signed this identity: fetch a new one');
    }
    const [oldest] = verified.keys();
    if (verified.size >= REMEMBERED_MAX && oldest !== undefined) verified.delete(oldest);
    verified.set(assertion, data);
    return data;
  };

  return (assertion, scope, at) => {
    const { use: _, iat, exp, ...identity } = claimsOf(assertion);
    const isOver = at >= exp * 1_000 + IDENTITY_TOLERANCE_MS;
    const isEarly = at < iat * 1_000 - IDENTITY_TOLERANCE_MS;
    if (isOver || isEarly || exp - iat > IDENTITY_MS / 1_000)
      throw new HoldpointError('IDENTITY_EXPIRED', 'this identity is not valid now: fetch a new one');
    if (!identity.scopes.includes(scope))
      throw new HoldpointError('IDENTITY_SCOPE', `the token lacks scope ${scope}`);
    return identity;
  };
};
