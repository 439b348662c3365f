import { createHash, timingSafeEqual } from 'node:crypto';
import { HoldpointError } from '@holdpoint/contracts/errors';
import type { KnownPrincipal } from '../config.ts';
import type { Principal } from '../domain/approval.ts';

/** Who a call's credentials belong to. Throws `APPROVALS_UNAUTHENTICATED`, the same for a wrong token as for none. */
export const createAuthenticator = (
  known: readonly KnownPrincipal[],
): ((authorization: string | undefined) => Principal) => {
  const hashes = known.map(({ tokenSha256, ...principal }) => ({
    principal,
    hash: Buffer.from(tokenSha256, 'hex'),
  }));
  return (authorization) => {
    const token = /^Bearer (\S{1,512})$/i.exec(authorization ?? '')?.[1];
    const hash = createHash('sha256')
      .update(token ?? '')
      .digest();
    // Every hash is compared, and each in constant time: how long it takes tells nothing.
    const found = hashes.filter((candidate) => timingSafeEqual(candidate.hash, hash));
    const principal = token === undefined ? undefined : found[0]?.principal;
    if (principal === undefined)
      throw new HoldpointError('APPROVALS_UNAUTHENTICATED', 'a valid token is needed to decide');
    return principal;
  };
};
