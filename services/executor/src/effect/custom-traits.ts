import { compensationOf } from '@holdpoint/contracts/effect/capabilities';
import type { EffectClass, SideEffectKind } from '@holdpoint/contracts/workflow/workflow';
import { type ClassOf, classOfEffect, kindOfLabel, type KindOf } from './admission.ts';

/** A custom capability, as its module declares it. */
export type CapabilityTraits = {
  readonly uses: string;
  readonly effectClass: EffectClass;
  readonly work: boolean;
  readonly kind: SideEffectKind | undefined;
  readonly preview: boolean;
  readonly compensate: boolean;
};

type LabelTraits = {
  readonly work?: EffectClass;
  readonly effect?: EffectClass;
  readonly kind?: SideEffectKind;
};

/** The labels that one capability can be ordered under. */
const labelsOf = (traits: CapabilityTraits): readonly (readonly [string, LabelTraits])[] => [
  [
    traits.uses,
    {
      effect: traits.effectClass,
      ...(traits.work && { work: 'idempotent' }),
      ...(traits.kind !== undefined && { kind: traits.kind }),
    },
  ],
  // A preview only reads, so that it may be repeated.
  ...(traits.preview ? [[`${traits.uses}.preview`, { work: 'idempotent' }] as const] : []),
  // After a failure nothing tells whether the compensation was applied.
  ...(traits.compensate
    ? [[compensationOf(traits.uses), { effect: 'opaque', kind: 'destructive_edit' }] as const]
    : []),
];

/** Classes and kinds of all capabilities of an executor: built in and custom. */
export const classifiersWith = (
  custom: readonly CapabilityTraits[],
): { readonly classOf: ClassOf; readonly kindOf: KindOf } => {
  const known = new Map(custom.flatMap(labelsOf));
  return {
    classOf: (effect) => {
      const own = known.get(effect.uses);
      if (own === undefined) return classOfEffect(effect);
      return effect.kind === 'work' ? own.work : own.effect;
    },
    kindOf: (uses) => kindOfLabel(uses) ?? known.get(uses)?.kind,
  };
};
