import { CAPABILITIES, effectClassOf, namesProbe } from '@holdpoint/contracts/effect/capabilities';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { SignedClaims } from '@holdpoint/contracts/effect/grant';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import { effectIdOf } from '@holdpoint/contracts/values/ids';
import type { EffectClass, SideEffectKind } from '@holdpoint/contracts/workflow/workflow';

/** Checks the signature of a token, and nothing else. Verifying is a pure function of token and public keys. */
export type Verify = (token: string) => SignedClaims | undefined;

/** The class of what is ordered, as an effect of its kind or as work; undefined when it cannot be. */
export type ClassOf = (
  effect: Pick<RunEffect['effect'], 'uses' | 'kind' | 'args'>,
) => EffectClass | undefined;

/** The class of what every executor carries out. */
export const classOfEffect: ClassOf = ({ uses, kind, args }) =>
  effectClassOf(uses, kind, { probe: namesProbe(args) });

/** The only kind that effects of a label may have, if there is only one. */
export type KindOf = (uses: string) => SideEffectKind | undefined;

/** The same of what every executor carries out. */
export const kindOfLabel: KindOf = (uses) =>
  Object.hasOwn(CAPABILITIES, uses) ? CAPABILITIES[uses]?.kind : undefined;

/** Work needs no grant, and nothing else goes without one. */
export const isWork = ({ effect }: Pick<RunEffect, 'effect'>): boolean => effect.kind === 'work';

/**
 * Whether an order may run at all: what was approved is what runs, and what was not approved is work. Nothing that the order
 * says of itself is believed; ids and digests are computed again from the effect.
 */
export const whyRefused = (
  order: RunEffect,
  now: number,
  verify: Verify,
  classOf: ClassOf = classOfEffect,
  kindOf: KindOf = kindOfLabel,
): ErrorBody | undefined =>
  order.grant === undefined
    ? workProblem(order, classOf)
    : (grantProblem(order, order.grant, now, verify) ?? effectProblem(order, classOf, kindOf));

const without = (problem: string): ErrorBody =>
  errorBody('EXECUTOR_GRANT_INVALID', `it comes without a grant, and ${problem}`);

const workProblem = (order: RunEffect, classOf: ClassOf): ErrorBody | undefined => {
  const { id, digest, effect } = order;
  if (!isWork(order)) return without(`it is no work, but of the kind ${effect.kind}`);
  if (effectDigest(effect) !== digest) return without('its digest is that of something else');
  if (effectIdOf(effect.task, effect.node, effect.idempotencyKey) !== id)
    return without('its id is that of something else');
  const effectClass = classOf(effect);
  if (effectClass === undefined) return without(`${effect.uses} is nothing that may be ordered as work`);
  if (effectClass !== effect.effectClass)
    return without(`${effect.uses} is ${effectClass} as work, not ${effect.effectClass}`);
  return undefined;
};

const grantProblem = (
  { id, digest, effect, approval }: RunEffect,
  grant: string,
  now: number,
  verify: Verify,
): ErrorBody | undefined => {
  const claims = verify(grant);
  if (claims === undefined || claims.use === 'answer')
    return errorBody('EXECUTOR_GRANT_INVALID', 'the grant is not signed by the approvals service');
  if (effectDigest(effect) !== digest || claims.digest !== digest) {
    return errorBody('EXECUTOR_DIGEST_MISMATCH', 'what is ordered is not what was approved');
  }
  if (claims.sub !== id || effectIdOf(effect.task, effect.node, effect.idempotencyKey) !== id) {
    return errorBody('EXECUTOR_GRANT_MISMATCH', 'the grant is for another effect');
  }
  if (approval !== undefined && claims.jti !== approval)
    return errorBody('EXECUTOR_GRANT_MISMATCH', 'the grant is of another approval');
  if (now >= claims.exp * 1_000) return errorBody('EXECUTOR_GRANT_EXPIRED', 'the grant has expired');
  return undefined;
};

const effectProblem = (order: RunEffect, classOf: ClassOf, kindOf: KindOf): ErrorBody | undefined => {
  const { uses, kind, effectClass } = order.effect;
  if (isWork(order)) return errorBody('EXECUTOR_GRANT_INVALID', 'a grant is for an effect, and this is work');
  const known = classOf(order.effect);
  if (known === undefined) return errorBody('EXECUTOR_UNKNOWN_CAPABILITY', `no capability is called ${uses}`);
  if (known !== effectClass)
    return errorBody('EXECUTOR_CLASS_MISMATCH', `${uses} is ${known}, not ${effectClass}`);
  const only = kindOf(uses);
  return only === undefined || only === kind
    ? undefined
    : errorBody('EXECUTOR_CLASS_MISMATCH', `${uses} is an effect of the kind ${only}, not ${kind}`);
};
