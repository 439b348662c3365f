import { compensationOf } from '@holdpoint/contracts/effect/capabilities';
import type { EffectClass, SideEffectKind } from '@holdpoint/contracts/workflow/workflow';
import { type ClassOf, classOfEffect, kindOfLabel, type KindOf } from './admission.ts';

/** What is known of a capability of an operator's own. */
export type CustomFacts = {
  readonly uses: string;
  readonly effectClass: EffectClass;
  readonly work: boolean;
  readonly kind: SideEffectKind | undefined;
  readonly preview: boolean;
  readonly compensate: boolean;
};

type Known = { readonly work?: EffectClass; readonly effect?: EffectClass; readonly kind?: SideEffectKind };

/** What may be ordered of one capability, by label. */
const labelsOf = (facts: CustomFacts): readonly (readonly [string, Known])[] => [
  [
    facts.uses,
    {
      effect: facts.effectClass,
      ...(facts.work && { work: 'idempotent' }),
      ...(facts.kind !== undefined && { kind: facts.kind }),
    },
  ],
  // A look is work: it may be repeated.
  ...(facts.preview ? [[`${facts.uses}.preview`, { work: 'idempotent' }] as const] : []),
  // Whether what was done has been taken back already, nobody can say.
  ...(facts.compensate
    ? [[compensationOf(facts.uses), { effect: 'opaque', kind: 'destructive_edit' }] as const]
    : []),
];

/** What an executor knows of everything that it carries out: of its own, and of what every executor has. */
export const factsWith = (
  custom: readonly CustomFacts[],
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
