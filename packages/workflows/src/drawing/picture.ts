import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { NodeDefinition, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { graphOf, type Edge } from '../graph/graph.ts';

/** The format-independent drawing of a node. */
export type Shape = {
  readonly id: NodeId;
  /** For languages in which an id could be a keyword. */
  readonly number: number;
  readonly kind: 'effect' | 'gate' | 'end' | 'work';
  readonly name: string | undefined;
  readonly uses: string;
  /** Short marks, such as a guard or a repetition. */
  readonly marks: readonly string[];
};

/** An edge and its label; success has no label. */
export type Line = Edge & { readonly label: string };

export type Picture = {
  readonly title: string;
  readonly shapes: readonly Shape[];
  readonly lines: readonly Line[];
};

const kindOf = ({ effect, uses }: NodeDefinition): Shape['kind'] => {
  if (effect !== undefined) return 'effect';
  if (uses === 'control.terminal') return 'end';
  return uses.startsWith('control.') ? 'gate' : 'work';
};

/** The distinctive part of a label: `git.commit` of `cap.env.builtin.git.commit`. */
const shortUses = (uses: string): string =>
  uses.replace(/^cap\.(env\.)?(builtin\.)?/, '').replace(/^control\.(gate\.)?/, '');

const marksOf = (node: NodeDefinition): string[] => [
  ...(node.effect === undefined ? [] : [`HOLD ${node.effect.kind}`]),
  ...(node.approval === undefined ? [] : ['approval']),
  ...(node.guard === undefined ? [] : ['guard']),
  ...(node.forEach === undefined ? [] : ['for each']),
  ...(node.until === undefined ? [] : ['until']),
];

/** Free text on one line, shortened, without control characters. */
const plain = (text: string): string => {
  const letters = Array.from(text.replaceAll(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ').trim());
  return letters.length > 60 ? `${letters.slice(0, 59).join('')}…` : letters.join('');
};

const nameOf = (name = ''): string | undefined => (plain(name) === '' ? undefined : plain(name));

export const pictureOf = (definition: WorkflowDefinition): Picture => {
  const graph = graphOf(definition);
  const shapes = [...graph.nodes.values()].map((node, number) => ({
    id: node.id,
    number,
    kind: kindOf(node),
    name: nameOf(node.name),
    uses: shortUses(node.uses),
    marks: marksOf(node),
  }));
  const lines = shapes
    .flatMap(({ id }) => graph.outgoing(id))
    .map((edge) => ({ ...edge, label: edge.on === 'succeeded' ? '' : edge.on }));
  return { title: plain(`${definition.id}@${definition.version}`), shapes, lines };
};

/** The lines of text in a node. */
export const captionOf = ({ id, name, uses, marks }: Shape): string[] => [
  id,
  ...(name === undefined ? [] : [name]),
  uses,
  ...(marks.length === 0 ? [] : [marks.join(', ')]),
];
