import { createHash, timingSafeEqual } from 'node:crypto';
import type { Scope } from '@holdpoint/contracts/approval/access-token';
import { isAmong } from '@holdpoint/contracts/workflow/audience';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { normalName, OIDC_PREFIX } from '@holdpoint/contracts/values/person';
import type { Principal } from '../../approval/state.ts';
import type { StoredToken } from '../../queries/tokens.ts';
import { type Attempts, type Failure, tooManyAttempts } from './attempts.ts';
import { bearerOf } from './bearer.ts';
import type { Directory } from './principals/directory.ts';
import type { Credentials, Identity } from './identity.ts';
import { looksLikeJwt, type OidcTokens, personOf } from './oidc/tokens.ts';
import type { OidcSettings } from './oidc/settings.ts';

export type IdentityParts = {
  /** The current one. */
  readonly directory: () => Directory;
  readonly administrators: readonly string[];
  readonly oidc?: (OidcTokens & { readonly settings: OidcSettings }) | undefined;
  /** By the SHA-256 of its secret, in hexadecimal. */
  readonly findToken: (sha256: string) => Promise<StoredToken | undefined>;
  /** Reads the people of the store if the directory has an older version of them. Throws `RUNTIME_UNAVAILABLE`. */
  readonly catchUp?: (peopleVersion: number) => Promise<void>;
  /** A stored token was used. */
  readonly onUse?: (token: StoredToken) => void;
  readonly attempts: Attempts;
};

type Proof = { readonly principal: Principal } | { readonly failure: Failure };

/** Shown only to a caller who has the secret. */
const FAILURE_TEXTS: Readonly<Partial<Record<Failure, string>>> = {
  expired: 'the token has expired',
  revoked: 'the token was revoked',
};

const ownerOf = (token: StoredToken, directory: Directory): Principal | undefined => {
  const { id, principal: name, groups, scopes, claims, agent } = token;
  const acting = { token: id, ...(claims && { claims }), ...(agent !== undefined && { agent }) };
  const known = directory.ofName(name);
  if (known !== undefined) return { ...known, scopes, ...acting };
  // The token was created before the directory listed this subject under another name: its owner would count
  // as two people.
  const isKnownByNow = name.startsWith(OIDC_PREFIX) && directory.ofOidc(name.slice(OIDC_PREFIX.length));
  return isKnownByNow ? undefined : { name, groups, scopes, ...acting };
};

const proofOf = (token: StoredToken | undefined, hash: Buffer, directory: Directory): Proof => {
  if (token === undefined || !timingSafeEqual(Buffer.from(token.sha256, 'hex'), hash))
    return { failure: 'unknown' };
  if (token.revoked) return { failure: 'revoked' };
  if (token.expired) return { failure: 'expired' };
  const { principal: name, createdAt } = token;
  // A token that the removal has not revoked yet, or that was created for the removed name.
  if (directory.isRemoved(name) || directory.wasRemovedSince(name, createdAt)) return { failure: 'revoked' };
  const principal = ownerOf(token, directory);
  return principal === undefined ? { failure: 'revoked' } : { principal };
};

export const createIdentity = ({
  directory,
  administrators,
  oidc,
  findToken,
  catchUp = () => Promise.resolve(),
  onUse = () => undefined,
  attempts,
}: IdentityParts): Identity => {
  const proveStored = async (hash: Buffer): Promise<Proof> => {
    const found = await findToken(hash.toString('hex'));
    if (found !== undefined) await catchUp(found.peopleVersion);
    const proof = proofOf(found, hash, directory());
    if (found !== undefined && 'principal' in proof) onUse(found);
    return proof;
  };

  const prove = async (token: string): Promise<Proof> => {
    const hash = createHash('sha256').update(token).digest();
    const listed = directory().ofToken(hash);
    if (listed !== undefined) return { principal: listed };
    if (oidc === undefined || !looksLikeJwt(token)) return proveStored(hash);
    const claims = await oidc.claimsOf(token);
    const principal = claims && personOf(claims, oidc.settings, directory());
    return principal === undefined ? { failure: 'oidc' } : { principal };
  };

  const refuse = (source: string, failure: Failure): HoldpointError => {
    const wait = attempts.failed(source, failure);
    if (wait === undefined)
      return new HoldpointError(
        'APPROVALS_UNAUTHENTICATED',
        FAILURE_TEXTS[failure] ?? 'a valid token is required',
      );
    return tooManyAttempts(wait);
  };

  const authenticate = async ({ authorization, source }: Credentials, scope?: Scope): Promise<Principal> => {
    if (authorization === undefined) {
      attempts.noted(source, 'missing');
      throw new HoldpointError('APPROVALS_UNAUTHENTICATED', 'a valid token is required');
    }
    const token = bearerOf(authorization);
    const proof: Proof = token === undefined ? { failure: 'unknown' } : await prove(token);
    if ('failure' in proof) throw refuse(source, proof.failure);
    const { principal } = proof;
    if (scope === undefined || principal.scopes === undefined || principal.scopes.includes(scope))
      return principal;
    attempts.noted(source, 'scope');
    throw new HoldpointError('APPROVALS_SCOPE', `the token lacks scope ${scope}`);
  };

  return {
    authenticate,
    ofDiscord: (user) => directory().ofDiscord(user),
    isAdministrator: (principal) => isAmong(administrators, principal),
    knows: (name) => directory().ofName(normalName(name)) !== undefined,
    isRemoved: (name) => directory().isRemoved(normalName(name)),
  };
};
