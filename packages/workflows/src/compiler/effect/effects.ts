import { effectClassOf, isCustom, namesProbe } from '@holdpoint/contracts/effect/capabilities';
import { isRemote } from '@holdpoint/contracts/effect/remote-name';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import type { EffectClass, EffectDeclaration, SideEffectKind } from '@holdpoint/contracts/workflow/workflow';
import type { NodeDraft } from '../node/node-draft.ts';
import { COMMAND, INTEGRATE, mayBeEffect, takesJson } from '../node/labels.ts';
import { firstText } from '../node/node-args.ts';
import { gateFor } from './effect-gate.ts';
import type { FindGate } from '../../gate/find-gate.ts';
import { shown } from '../../problems/report.ts';
import type { RawEffect } from '../../template/schema.ts';

/** The branch whose commits are merged. */
export const sourceBranch = (args: NodeDraft['node']['args']): string | undefined => {
  const branch = firstText(args, ['branch', 'source_branch', 'plan_branch']);
  const plan = firstText(args, ['slug', 'plan']);
  if (branch !== '') return branch;
  return plan === '' ? undefined : `draft/${plan}`;
};

const classified = (
  { uses, pool = DEFAULT_POOL }: Pick<NodeDraft['node'], 'uses' | 'pool'>,
  kind: SideEffectKind,
  facts: { readonly probe?: boolean; readonly class?: EffectClass | undefined } = {},
): Pick<EffectDeclaration, 'kind' | 'effectClass' | 'pool'> => ({
  kind,
  // Only the executor knows the class of a custom capability, and it refuses any other class.
  effectClass: effectClassOf(uses, kind, facts) ?? facts.class ?? 'opaque',
  pool,
});

/** A merge is an effect even without an effect table. */
const mergeEffect = ({ node, fields }: NodeDraft, findGate: FindGate | undefined): EffectDeclaration => {
  const { args } = node;
  const target = firstText(args, ['target', 'target_branch']) || 'HEAD';
  return {
    ...classified(node, 'merge'),
    ...gateFor({}, 'merge', findGate, fields),
    idempotencyKey: `merge:${sourceBranch(args) ?? ''}:${target}`,
    target: `branch:${target}`,
  };
};

const declaredEffect = (
  raw: RawEffect,
  { node, fields }: NodeDraft,
  findGate: FindGate | undefined,
): EffectDeclaration => {
  const { uses, args } = node;
  const text = (key: 'idempotency_key' | 'target' | 'probe' | 'compensate' | 'rollback_hint'): string =>
    fields.text(raw[key] ?? '', `effect.${key}`);
  const optional = (key: 'probe' | 'compensate' | 'rollback_hint'): string | undefined =>
    raw[key] === undefined ? undefined : text(key);
  const [probe, compensate, rollbackHint] = [
    optional('probe'),
    optional('compensate'),
    optional('rollback_hint'),
  ];
  if (raw.class !== undefined && !isCustom(uses) && !isRemote(uses)) {
    const expected = `no class: the class of ${uses} is fixed`;
    fields.error('WORKFLOW_EFFECT_CLASS', 'effect.class', shown(raw.class), expected);
  }
  return {
    // A probe counts no matter whether the effect or the arguments name it: the executor treats both alike.
    ...classified(node, raw.side_effect_kind, {
      probe: namesProbe({ with: { ...args, ...(probe && { probe }) } }),
      class: raw.class,
    }),
    ...gateFor(raw, raw.side_effect_kind, findGate, fields),
    idempotencyKey: text('idempotency_key'),
    target: text('target'),
    ...(raw.previews === true && { previews: true as const }),
    ...(probe !== undefined && { probe }),
    ...(compensate !== undefined && { compensate }),
    ...(rollbackHint !== undefined && { rollbackHint }),
  };
};

/**
 * Why a node may not have its effect table, or must have one. The checks of the definition cover the kind.
 */
const refusal = ({
  node: { uses },
  source: { effect },
}: NodeDraft): readonly [code: string, expected: string] | undefined => {
  if (effect === undefined) {
    return takesJson(uses) && !isCustom(uses) && !uses.endsWith('.preview')
      ? ['WORKFLOW_EFFECT_MISSING', 'an effect table: this capability changes external state']
      : undefined;
  }
  return mayBeEffect(uses)
    ? undefined
    : ['WORKFLOW_EFFECT_USES', `a capability that may be an effect, such as ${COMMAND}`];
};

/** The effect of a node, or undefined for a node without one. */
export const effectOf = (draft: NodeDraft, findGate: FindGate | undefined): EffectDeclaration | undefined => {
  const { node, source, fields } = draft;
  const refused = refusal(draft);
  if (refused !== undefined) {
    const found =
      source.effect === undefined ? 'nothing' : `an effect of the kind ${source.effect.side_effect_kind}`;
    fields.error(refused[0], 'effect', found, `${refused[1]} (uses ${node.uses})`);
    return undefined;
  }
  const effect =
    source.effect === undefined
      ? node.uses === INTEGRATE
        ? mergeEffect(draft, findGate)
        : undefined
      : declaredEffect(source.effect, draft, findGate);
  if (effect !== undefined && source.for_each !== undefined) {
    const expected = 'either for_each or an effect, not both';
    fields.error('WORKFLOW_EFFECT_FOR_EACH', 'for_each', 'for_each of an effect', expected);
  }
  return effect;
};
