import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import type { Principal } from '../../../approval/state.ts';
import type { Directory } from '../principals/directory.ts';
import { GroupName, isPlain, OIDC_PREFIX } from '../principals/names.ts';
import type { OidcSettings } from './settings.ts';

/** Nothing that a public key could be taken for the secret of, and not none. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;
const CLOCKS_APART_S = 30;
const GROUPS_MAX = 200;

/** Three parts with dots between them: no token of our own has any. */
export const looksLikeJwt = (token: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token);

const Subject = z.string().min(1).max(255);
/** With what is put before it, it fits wherever a name is kept. */
const Name = z.string().min(1).max(190).refine(isPlain);
const Groups = z
  .union([z.array(z.string()), z.string().transform((group) => [group])])
  .pipe(z.array(z.string().min(1).max(100).refine(isPlain)).max(GROUPS_MAX))
  // One of this name would pass for a person, and gives nobody any right.
  .transform((groups) => [...new Set(groups)].filter((group) => GroupName.safeParse(group).success))
  .default([]);

const claimIn = (claims: JWTPayload, claim: string): unknown =>
  Object.hasOwn(claims, claim) ? claims[claim] : undefined;

/**
 * Whose the claims are: the person that the directory has under this subject, or else somebody of the issuer, with the groups
 * that it names. Undefined when they are nothing that a person could be called by.
 */
export const personOf = (
  claims: JWTPayload,
  { groupsClaim, nameClaim, scopes }: Pick<OidcSettings, 'groupsClaim' | 'nameClaim' | 'scopes'>,
  directory: Directory,
): Principal | undefined => {
  const subject = Subject.safeParse(claims.sub);
  if (!subject.success) return undefined;
  const known = directory.ofOidc(subject.data);
  if (known !== undefined) return { ...known, scopes };
  const name = Name.safeParse(claimIn(claims, nameClaim));
  const groups = Groups.safeParse(claimIn(claims, groupsClaim));
  if (!name.success || !groups.success) return undefined;
  return { name: `${OIDC_PREFIX}${name.data}`, groups: groups.data, scopes };
};

export type OidcTokens = {
  /** What a token says, once all of it has been checked; undefined when it is wrong. Throws `RUNTIME_UNAVAILABLE`. */
  readonly claimsOf: (token: string) => Promise<JWTPayload | undefined>;
};

export const createOidcTokens = (
  { issuer, audience }: Pick<OidcSettings, 'issuer' | 'audience'>,
  keyOf: JWTVerifyGetKey,
): OidcTokens => {
  const checked = {
    issuer,
    audience: [...audience],
    algorithms: [...ALGORITHMS],
    requiredClaims: ['exp', 'sub'],
    clockTolerance: CLOCKS_APART_S,
  };
  /** A token that does not say by which of several keys it is signed is tried with each. */
  const withEach = async (
    token: string,
    keys: errors.JWKSMultipleMatchingKeys,
  ): Promise<JWTPayload | undefined> => {
    for await (const key of keys) {
      try {
        return (await jwtVerify(token, key, checked)).payload;
      } catch (error) {
        if (!(error instanceof errors.JOSEError)) throw error;
      }
    }
    return undefined;
  };
  return {
    claimsOf: async (token) => {
      try {
        return (await jwtVerify(token, keyOf, checked)).payload;
      } catch (error) {
        if (error instanceof errors.JWKSMultipleMatchingKeys) return withEach(token, error);
        if (error instanceof errors.JOSEError) return undefined;
        throw error;
      }
    },
  };
};
