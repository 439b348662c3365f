import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { captionOf, pictureOf, type Line, type Shape } from './picture.ts';

/** Inside quotes, DOT gives a meaning only to these two characters. */
const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
const label = (lines: readonly string[]): string =>
  `"${lines.map((line) => quoted(line).slice(1, -1)).join('\\n')}"`;

const LOOK: Readonly<Record<Shape['kind'], string>> = {
  effect: 'shape=box peripheries=2 penwidth=2',
  gate: 'shape=diamond',
  end: 'shape=oval',
  work: 'shape=box',
};

const shapeText = (shape: Shape): string =>
  `  ${quoted(shape.id)} [${LOOK[shape.kind]} label=${label(captionOf(shape))}];`;

const lineText = ({ from, to, loop, label: text }: Line): string => {
  // An edge that leads back must not push its target down.
  const look = [
    ...(loop ? ['style=dashed', 'constraint=false'] : []),
    ...(text === '' ? [] : [`label=${quoted(text)}`]),
  ];
  return `  ${quoted(from)} -> ${quoted(to)}${look.length === 0 ? '' : ` [${look.join(' ')}]`};`;
};

/** Draws a workflow for Graphviz; edges that lead back are dashed. */
export const drawDot = (definition: WorkflowDefinition): string => {
  const { title, shapes, lines } = pictureOf(definition);
  return [
    `digraph ${quoted(title)} {`,
    '  rankdir=TB;',
    '  node [fontname="sans-serif"];',
    ...shapes.map(shapeText),
    ...lines.map(lineText),
    '}',
    '',
  ].join('\n');
};
