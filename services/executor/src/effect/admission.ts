import { CAPABILITIES, effectClassOf, namesProbe } from '@holdpoint/contracts/effect/capabilities';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { misstated } from '@holdpoint/contracts/effect/describe';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { isRemote, remoteLabelOf, remoteNameIn } from '@holdpoint/contracts/effect/remote-name';
import type { SignedClaims } from '@holdpoint/contracts/effect/grant';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import { effectIdOf } from '@holdpoint/contracts/values/ids';
import type { EffectClass, SideEffectKind } from '@holdpoint/contracts/workflow/workflow';

/** Checks the signature of a token, and nothing else. It is a pure function of the token and the public keys. */
export type Verify = (token: string) => SignedClaims | undefined;

/** The class of an order, as an effect of its kind or as work; undefined when the label cannot be ordered so. */
export type ClassOf = (
  effect: Pick<RunEffect['effect'], 'uses' | 'kind' | 'args'>,
) => EffectClass | undefined;

/** Classes of the capabilities that every executor has. */
export const classOfEffect: ClassOf = ({ uses, kind, args }) =>
  effectClassOf(uses, kind, { probe: namesProbe(args) });

/**
 * The class of a remote order. A grant proves the class of an effect: approvals compares it with the registered capability before
 * it signs. Only a preview is work.
 */
export const remoteClassOf = ({ uses, kind, effectClass }: RunEffect['effect']): EffectClass | undefined => {
  const isPreview = uses === `${remoteLabelOf(remoteNameIn(uses) ?? '')}.preview`;
  if (kind === 'work') return isPreview ? 'idempotent' : undefined;
  return isPreview ? undefined : effectClass;
};

/** The only kind that effects of a label may have, if there is only one. */
export type KindOf = (uses: string) => SideEffectKind | undefined;

/** Why this executor does not take work of a label; undefined if it does. */
export type WorkRefusal = (uses: string) => string | undefined;

/** Kinds of the capabilities that every executor has. */
export const kindOfLabel: KindOf = (uses) =>
  Object.hasOwn(CAPABILITIES, uses) ? CAPABILITIES[uses]?.kind : undefined;

/** Work needs no grant. Every other order needs one. */
export const isWork = ({ effect }: Pick<RunEffect, 'effect'>): boolean => effect.kind === 'work';

/**
 * The reason to refuse an order, if there is one. The approved effect is the effect that runs, and an order without approval is
 * work. Ids and digests are computed again from the effect: an order's statements about itself prove nothing.
 */
export const whyRefused = (
  order: RunEffect,
  now: number,
  verify: Verify,
  classOf: ClassOf = classOfEffect,
  kindOf: KindOf = kindOfLabel,
  refusesWork: WorkRefusal = () => undefined,
): ErrorBody | undefined =>
  order.grant === undefined
    ? workProblem(order, classOf, refusesWork)
    : (grantProblem(order, order.grant, now, verify) ?? effectProblem(order, classOf, kindOf));

const without = (problem: string): ErrorBody =>
  errorBody('EXECUTOR_GRANT_INVALID', `Order without a grant: ${problem}`);

const workProblem = (order: RunEffect, classOf: ClassOf, refusesWork: WorkRefusal): ErrorBody | undefined => {
  const { id, digest, effect } = order;
  if (!isWork(order)) return without(`effects of kind ${effect.kind} need one`);
  if (effectDigest(effect) !== digest) return without('the digest does not match the effect');
  if (effectIdOf(effect.task, effect.node, effect.idempotencyKey) !== id)
    return without('the id does not match the effect');
  const effectClass = isRemote(effect.uses) ? remoteClassOf(effect) : classOf(effect);
  if (effectClass === undefined) return without(`${effect.uses} cannot be ordered as work`);
  if (effectClass !== effect.effectClass)
    return without(`${effect.uses} is ${effectClass} as work, not ${effect.effectClass}`);
  // A claimant does the work of a remote preview.
  const refusal = isRemote(effect.uses) ? undefined : refusesWork(effect.uses);
  return refusal === undefined ? undefined : errorBody('EXECUTOR_WORK_REFUSED', refusal);
};

const grantProblem = (
  { id, digest, effect, approval }: RunEffect,
  grant: string,
  now: number,
  verify: Verify,
): ErrorBody | undefined => {
  const claims = verify(grant);
  if (claims === undefined || claims.use === 'answer')
    return errorBody('EXECUTOR_GRANT_INVALID', 'The grant is not signed by the approvals service');
  if (effectDigest(effect) !== digest || claims.digest !== digest) {
    return errorBody(
      'EXECUTOR_DIGEST_MISMATCH',
      'Digest mismatch: the order differs from the approved effect',
    );
  }
  if (claims.sub !== id || effectIdOf(effect.task, effect.node, effect.idempotencyKey) !== id) {
    return errorBody('EXECUTOR_GRANT_MISMATCH', 'The grant is for another effect');
  }
  if (approval !== undefined && claims.jti !== approval)
    return errorBody('EXECUTOR_GRANT_MISMATCH', 'The grant belongs to another approval');
  if (now >= claims.exp * 1_000) return errorBody('EXECUTOR_GRANT_EXPIRED', 'The grant has expired');
  return undefined;
};

const effectProblem = (order: RunEffect, classOf: ClassOf, kindOf: KindOf): ErrorBody | undefined => {
  const { uses, kind, effectClass } = order.effect;
  if (isWork(order)) return errorBody('EXECUTOR_GRANT_INVALID', 'A grant is for an effect, and this is work');
  const known = isRemote(uses) ? remoteClassOf(order.effect) : classOf(order.effect);
  if (known === undefined) return errorBody('EXECUTOR_UNKNOWN_CAPABILITY', `Unknown capability: ${uses}`);
  if (known !== effectClass)
    return errorBody('EXECUTOR_CLASS_MISMATCH', `${uses} is ${known}, not ${effectClass}`);
  const only = kindOf(uses);
  if (only !== undefined && only !== kind)
    return errorBody('EXECUTOR_CLASS_MISMATCH', `${uses} must be ordered as kind ${only}, not ${kind}`);
  const wrong = misstated(order.effect);
  return wrong === undefined ? undefined : errorBody('EXECUTOR_EFFECT_MISDESCRIBED', `${uses}: ${wrong}`);
};
