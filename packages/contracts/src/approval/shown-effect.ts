import { type CanonicalEffect, effectDigest } from '../effect/canonical-effect.ts';
import { HoldpointError } from '../values/errors.ts';

/** A request as a person sees it. */
export type Shown = { readonly effect: CanonicalEffect; readonly digest: string };

/** Whether the shown digest belongs to the shown effect. */
export const isAsShown = ({ effect, digest }: Shown): boolean => effectDigest(effect) === digest;

/**
 * The digest of the effect that a person sees, computed here: a decision is bound to this effect, whatever digest
 * came with it. Throws `APPROVALS_EFFECT_ALTERED` when they differ.
 */
export const digestShown = (shown: Shown): string => {
  if (isAsShown(shown)) return shown.digest;
  throw new HoldpointError(
    'APPROVALS_EFFECT_ALTERED',
    'the shown effect does not have the shown digest: decide nothing, and report it',
  );
};
