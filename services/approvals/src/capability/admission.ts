import {
  filledIn,
  type RegisteredCapability,
  remoteTargetOf,
} from '@holdpoint/contracts/approval/capability';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import { Risk, riskOf } from '@holdpoint/contracts/effect/describe';
import type { ErrorCode } from '@holdpoint/contracts/values/errors';
import { objectIn } from '@holdpoint/contracts/values/json';
import { argumentProblems } from './arguments.ts';

/** The words of the registry about a request. */
export type RegisteredWords = {
  readonly title: string;
  readonly description?: string;
  readonly risk: Risk;
};

export type Admission = { readonly refusal: string } | { readonly words: RegisteredWords };

const TITLE_MAX = 500;

const refuse = (code: ErrorCode, text: string): Admission => ({ refusal: `${code}: ${text}` });

/** The effect as registered, for its own label or for that of its compensation. */
const expected = (definition: RegisteredCapability, { uses, args }: CanonicalEffect) => {
  const undoes = uses.endsWith('.compensate');
  const own = undoes ? (objectIn(args['args']) ?? {}) : args;
  const { preview: _, ...withoutPreview } = own;
  const stated = definition.preview === true ? withoutPreview : own;
  return {
    undoes,
    args: stated,
    kind: undoes ? 'destructive_edit' : definition.kind,
    class: definition.effectClass,
    target: remoteTargetOf(definition, stated),
  };
};

const higher = (one: Risk, other: Risk = 'low'): Risk =>
  Risk.options.indexOf(one) < Risk.options.indexOf(other) ? other : one;

/**
 * Whether a request for a remote effect agrees with the registry, and the words for approvers. `definition` is undefined for a
 * name that was never registered.
 */
export const admit = (
  effect: CanonicalEffect,
  name: string,
  definition: RegisteredCapability | undefined,
): Admission => {
  if (definition === undefined)
    return refuse('APPROVALS_UNKNOWN_CAPABILITY', `register ${name} with \`holdpoint capability register\``);
  if (definition.status === 'withdrawn')
    return refuse(
      'APPROVALS_CAPABILITY_WITHDRAWN',
      `${name} was withdrawn by ${definition.withdrawnBy ?? ''}`,
    );
  const wanted = expected(definition, effect);
  if (effect.uses.endsWith('.preview') || (wanted.undoes && definition.compensate !== true))
    return refuse('APPROVALS_EFFECT_MISDESCRIBED', `${effect.uses} is not an effect of ${name}`);
  for (const [field, stated, registered] of [
    ['kind', effect.kind, wanted.kind],
    ['class', effect.effectClass, wanted.class],
  ] as const)
    if (stated !== registered)
      return refuse(
        'APPROVALS_EFFECT_MISDESCRIBED',
        `the ${field} of ${name} is ${registered}, not ${stated}`,
      );
  const problems = argumentProblems(definition.input, wanted.args);
  if (problems.length > 0) return refuse('APPROVALS_ARGUMENTS_INVALID', problems.join('; '));
  if (effect.target !== wanted.target)
    return refuse(
      'APPROVALS_EFFECT_MISDESCRIBED',
      `the target is ${wanted.target.slice(0, 100)}, not as stated`,
    );
  const title = filledIn(definition.title, wanted.args).trim().slice(0, TITLE_MAX).toWellFormed();
  const { description, risk } = definition;
  return {
    words: {
      title: wanted.undoes ? `Undo: ${title}`.slice(0, TITLE_MAX) : title || name,
      ...(description !== undefined && { description }),
      risk: higher(riskOf({ kind: effect.kind, effectClass: effect.effectClass }), risk),
    },
  };
};
