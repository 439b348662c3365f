import type { Json } from '@holdpoint/contracts/values/json';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';

/** A text of a node and its path. */
export type NodeText = { readonly path: string; readonly text: string };

/** The fields of a node that are one expression each. */
export const expressionsOf = (node: NodeDefinition): readonly NodeText[] =>
  (['guard', 'until', 'forEach'] as const).flatMap((field) => {
    const text = node[field];
    return text === undefined ? [] : [{ path: field, text }];
  });

/** The names that an expression may use. */
export const SCOPE_NAMES: ReadonlySet<string> = new Set(['inputs', 'nodes', 'outputs', 'item', 'task']);

/** Prompts have their own `{{file:…}}` placeholders, which the capability fills in. */
const isPrompt = (uses: string, arg: string): boolean =>
  uses.endsWith('.prompt.resolve') || (uses === 'control.gate.conflict_resolution' && arg === 'prompt_text');

/**
 * Scripts contain braces of their own, so arguments are rendered only at nodes with an effect or `for_each`.
 */
const rendersArguments = ({ effect, forEach, verbatim }: NodeDefinition): boolean =>
  verbatim !== true && (effect !== undefined || forEach !== undefined);

/** A compensation receives the final arguments of its effect, already rendered. */
const isCompensation = (uses: string): boolean => uses.endsWith('.compensate');

/** Whether expressions in an argument are rendered, for a node or a step around it. */
export const isRendered = (node: NodeDefinition, uses: string, arg: string): boolean =>
  rendersArguments(node) && !isPrompt(uses, arg) && !isCompensation(uses);

const within = (path: string, value: Json): NodeText[] => {
  if (typeof value === 'string') return value.includes('{{') ? [{ path, text: value }] : [];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item: Json, at) => within(`${path}[${String(at)}]`, item));
  return Object.entries(value).flatMap(([key, item]: [string, Json]) => within(`${path}.${key}`, item));
};

const argsOf = (
  node: NodeDefinition,
  { uses, args }: Pick<NodeDefinition, 'uses' | 'args'>,
  path: string,
): NodeText[] =>
  Object.entries(args).flatMap(([name, value]) =>
    isRendered(node, uses, name) ? within(`${path}.${name}`, value) : [],
  );

const effectOf = ({ effect, verbatim }: NodeDefinition): NodeText[] =>
  (verbatim === true ? [] : (['idempotencyKey', 'target', 'probe', 'compensate'] as const)).flatMap((field) =>
    within(`effect.${field}`, effect?.[field] ?? null),
  );

/** The texts of a node that may contain `{{ expression }}` parts. */
export const textsOf = (node: NodeDefinition): readonly NodeText[] => {
  const steps = (['before', 'afterwards', 'finally'] as const).flatMap((field) =>
    (node[field] ?? []).flatMap((step, at) => argsOf(node, step, `${field}[${String(at)}].args`)),
  );
  return [...effectOf(node), ...argsOf(node, node, 'args'), ...steps];
};
