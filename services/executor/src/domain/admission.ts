import { EFFECT_CLASSES } from '@holdpoint/contracts/capabilities';
import { effectDigest, type GrantClaims, type RunEffect } from '@holdpoint/contracts/effect';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/errors';
import { effectIdOf } from '@holdpoint/contracts/ids';
import type { EffectClass } from '@holdpoint/contracts/workflow';

/** Checks the signature of a grant, and nothing else. Verifying is a pure function of token and public keys. */
export type VerifyGrant = (token: string) => GrantClaims | undefined;

/** The class of every capability that there is. */
export type EffectClasses = Readonly<Record<string, EffectClass>>;

/**
 * Whether an order may run at all: what was approved is what runs. Nothing that the order says of itself is believed;
 * ids and digests are computed again from the effect.
 */
export const whyRefused = (
  order: RunEffect,
  now: number,
  verify: VerifyGrant,
  classes: EffectClasses = EFFECT_CLASSES,
): ErrorBody | undefined => grantProblem(order, now, verify) ?? effectProblem(order, classes);

const grantProblem = (
  { id, digest, effect, grant }: RunEffect,
  now: number,
  verify: VerifyGrant,
): ErrorBody | undefined => {
  const claims = verify(grant);
  if (claims === undefined)
    return errorBody('EXECUTOR_GRANT_INVALID', 'the grant is not signed by the approvals service');
  if (effectDigest(effect) !== digest || claims.digest !== digest) {
    return errorBody('EXECUTOR_DIGEST_MISMATCH', 'what is ordered is not what was approved');
  }
  if (claims.sub !== id || effectIdOf(effect.task, effect.node, effect.idempotencyKey) !== id) {
    return errorBody('EXECUTOR_GRANT_MISMATCH', 'the grant is for another effect');
  }
  if (now >= claims.exp * 1_000) return errorBody('EXECUTOR_GRANT_EXPIRED', 'the grant has expired');
  return undefined;
};

const effectProblem = ({ effect }: RunEffect, classes: EffectClasses): ErrorBody | undefined => {
  const effectClass = Object.hasOwn(classes, effect.uses) ? classes[effect.uses] : undefined;
  if (effectClass === undefined)
    return errorBody('EXECUTOR_UNKNOWN_CAPABILITY', `no capability is called ${effect.uses}`);
  if (effectClass !== effect.effectClass) {
    return errorBody(
      'EXECUTOR_CLASS_MISMATCH',
      `${effect.uses} is ${effectClass}, not ${effect.effectClass}`,
    );
  }
  return undefined;
};
