import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { NodeDefinition, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { graphOf, type Edge } from '../graph/graph.ts';

/** What a drawing shows of a node, whatever it is drawn in. */
export type Shape = {
  readonly id: NodeId;
  /** The number of the node, for languages in which an id could be a word of their own. */
  readonly number: number;
  readonly kind: 'effect' | 'gate' | 'end' | 'work';
  readonly name: string | undefined;
  readonly uses: string;
  /** In a word or two: what holds it up, and what repeats it. */
  readonly marks: readonly string[];
};

/** An edge, and its label; success is what is meant by a line without one. */
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

/** The part of a label that tells it from others: `git.commit` of `cap.env.builtin.git.commit`. */
const shortUses = (uses: string): string =>
  uses.replace(/^cap\.(env\.)?(builtin\.)?/, '').replace(/^control\.(gate\.)?/, '');

const marksOf = (node: NodeDefinition): string[] => [
  ...(node.effect === undefined ? [] : [`HOLD ${node.effect.kind}`]),
  ...(node.approval === undefined ? [] : ['approval']),
  ...(node.guard === undefined ? [] : ['guard']),
  ...(node.forEach === undefined ? [] : ['for each']),
  ...(node.until === undefined ? [] : ['until']),
];

/** Free text on one line, without what moves a cursor or hides, and not longer than can be drawn. */
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

/** What stands in a node, line by line. */
export const captionOf = ({ id, name, uses, marks }: Shape): string[] => [
  id,
  ...(name === undefined ? [] : [name]),
  uses,
  ...(marks.length === 0 ? [] : [marks.join(', ')]),
];
