import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import type { Principal } from '../../../approval/state.ts';
import type { Directory } from '../principals/directory.ts';
import { GroupName, isPlainText, OIDC_PREFIX, PrincipalName } from '@holdpoint/contracts/values/person';
import type { OidcSettings } from './settings.ts';

/** Asymmetric algorithms only: neither `none`, nor HMAC with a public key as its secret. */
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

/** Three parts separated by dots; Holdpoint's own tokens contain none. */
export const looksLikeJwt = (token: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token);

const Subject = z.string().min(1).max(255);
/** Fits every name limit, with its prefix. */
const Name = z
  .string()
  .min(1)
  .max(190)
  .transform((name) => `${OIDC_PREFIX}${name}`)
  .pipe(PrincipalName);
const Groups = z
  .union([z.array(z.string()), z.string().transform((group) => [group])])
  .pipe(z.array(z.string().min(1).max(100).refine(isPlainText)).max(GROUPS_MAX))
  // Such a group would read as a person in an audience, and grants nothing.
  .transform((groups) => [...new Set(groups)].filter((group) => GroupName.safeParse(group).success))
  .default([]);

const claimIn = (claims: JWTPayload, claim: string): unknown =>
  Object.hasOwn(claims, claim) ? claims[claim] : undefined;

/**
 * The person of these claims: the directory's entry for this subject, or else a person of the issuer with its
 * groups. Undefined when the claims contain no valid name.
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
  return { name: name.data, groups: groups.data, scopes };
};

export type OidcTokens = {
  /** The verified claims; undefined for an invalid token. Throws `RUNTIME_UNAVAILABLE`. */
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
  /** Tries each matching key of a token without a key id. */
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
