import type { Json } from '@holdpoint/contracts/values/json';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';

/** Something that is written in a node, and where. */
export type NodeText = { readonly path: string; readonly text: string };

/** The expressions of a node: each is one as a whole. */
export const expressionsOf = (node: NodeDefinition): readonly NodeText[] =>
  (['guard', 'until', 'forEach'] as const).flatMap((field) => {
    const text = node[field];
    return text === undefined ? [] : [{ path: field, text }];
  });

/** What an expression may speak of. */
export const SCOPE_NAMES: ReadonlySet<string> = new Set(['inputs', 'nodes', 'outputs', 'item', 'task']);

/** A prompt has placeholders of its own, of the form `{{file:…}}`, which the capability puts in. */
const isPrompt = (uses: string, arg: string): boolean =>
  uses.endsWith('.prompt.resolve') || (uses === 'control.gate.conflict_resolution' && arg === 'prompt_text');

/** Scripts have braces of their own: arguments are filled in only where a node has what templates did not have before. */
const rendersArguments = ({ effect, forEach, verbatim }: NodeDefinition): boolean =>
  verbatim !== true && (effect !== undefined || forEach !== undefined);

/** What takes an effect back is given what that was ordered with, with everything put in long ago. */
const isCompensation = (uses: string): boolean => uses.endsWith('.compensate');

/** Whether the expressions in an argument of a node, or of a step around it, are put in. */
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

/** The texts of a node in which expressions stand between `{{` and `}}`. */
export const textsOf = (node: NodeDefinition): readonly NodeText[] => {
  const steps = (['before', 'afterwards', 'finally'] as const).flatMap((field) =>
    (node[field] ?? []).flatMap((step, at) => argsOf(node, step, `${field}[${String(at)}].args`)),
  );
  return [...effectOf(node), ...argsOf(node, node, 'args'), ...steps];
};
