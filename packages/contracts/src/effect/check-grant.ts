import type { KeyObject } from 'node:crypto';
import { IDENTITY_TOLERANCE_MS } from '../approval/identity.ts';
import { type PublishedKeys, publicKeysIn, vouchedFor } from '../approval/signing-keys.ts';
import { type ErrorBody, errorBody } from '../values/errors.ts';
import { effectIdOf } from '../values/ids.ts';
import { createVerifier, keyIdOf } from '../values/jws.ts';
import { effectDigest } from './canonical-effect.ts';
import { AnswerClaims, GrantClaims } from './grant.ts';
import type { ClaimedOrder } from './remote.ts';
import { isRemote } from './remote-name.ts';

/** What a claimant checks: an order without its lease. */
export type CheckedOrder = Pick<ClaimedOrder, 'kind' | 'order' | 'epoch' | 'statement'>;

/**
 * Why a claimant must not act on an order; undefined if the approvals service has signed exactly this effect. It trusts nothing in
 * the order: digest and id are computed from the effect. A preview is work and needs no grant. `keys` are those of the approvals service; `now` is in epoch milliseconds.
 */
export const checkGrant = (
  { kind, order, epoch, statement }: CheckedOrder,
  keys: readonly KeyObject[],
  now: number,
): ErrorBody | undefined => {
  const { id, digest, effect, approval, grant } = order;
  const verify = createVerifier(keys);
  const isPreview = effect.kind === 'work' && isRemote(effect.uses) && effect.uses.endsWith('.preview');
  const isEffect = effect.kind !== 'work' && isRemote(effect.uses);
  if (grant === undefined ? !isPreview : !isEffect)
    return errorBody('EXECUTOR_GRANT_INVALID', 'only a preview needs no grant');
  const claims = grant === undefined ? undefined : GrantClaims.safeParse(verify(grant)).data;
  if (claims === undefined && !isPreview)
    return errorBody('EXECUTOR_GRANT_INVALID', 'the grant is not signed by the approvals service');
  if (effectDigest(effect) !== digest || (claims?.digest ?? digest) !== digest)
    return errorBody('EXECUTOR_DIGEST_MISMATCH', 'the order differs from the approved effect');
  const isOfId = effectIdOf(effect.task, effect.node, effect.idempotencyKey) === id;
  if (!isOfId || (claims?.sub ?? id) !== id)
    return errorBody('EXECUTOR_GRANT_MISMATCH', 'the grant is for another effect');
  if (claims === undefined) return undefined;
  if (approval !== undefined && claims.jti !== approval)
    return errorBody('EXECUTOR_GRANT_MISMATCH', 'the grant belongs to another approval');
  const isOver = (exp: number): boolean => now >= exp * 1_000 + IDENTITY_TOLERANCE_MS;
  // A probe changes nothing.
  if (kind === 'probe' || !isOver(claims.exp)) return undefined;
  const answer = statement === undefined ? undefined : AnswerClaims.safeParse(verify(statement)).data;
  const isRepeat =
    answer?.answer === 'retry' &&
    answer.sub === id &&
    answer.digest === digest &&
    answer.epoch === epoch - 1 &&
    !isOver(answer.exp);
  return isRepeat
    ? undefined
    : errorBody('EXECUTOR_GRANT_EXPIRED', 'the grant has expired; compare the clocks of the machines');
};

/** The keys in published form. Throws `TypeError` for a key that is none. */
export const keysIn = ({ keys }: Pick<PublishedKeys, 'keys'>): readonly KeyObject[] =>
  keys.flatMap(({ publicKey }) => publicKeysIn(publicKey));

/** The keys that follow from trusted ones after a rotation, without retired ones: only statements of trusted keys count. */
export const rotatedKeys = (
  trusted: readonly KeyObject[],
  { statements }: Pick<PublishedKeys, 'statements'>,
): readonly KeyObject[] => {
  const { keys, retired } = vouchedFor(trusted, statements);
  const over = new Set(retired.map(keyIdOf));
  return keys.filter((key) => !over.has(keyIdOf(key)));
};
