import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { pictureOf, type Line, type Picture, type Shape } from './picture.ts';

/** Each layer is indented by two columns, up to this limit: a long chain must fit a terminal. */
const INDENT_MAX = 16;

const SIGN: Readonly<Record<Shape['kind'], string>> = { effect: '#', gate: '?', end: '.', work: '*' };

/** The depth of each node: the longest chain of nodes that it waits for. */
const layersOf = ({ shapes, lines }: Picture): ReadonlyMap<NodeId, number> => {
  const onward = lines.filter(({ loop }) => !loop);
  const out = Map.groupBy(onward, ({ from }) => from);
  const waiting = new Map<NodeId, number>(shapes.map(({ id }) => [id, 0]));
  for (const { to } of onward) waiting.set(to, (waiting.get(to) ?? 0) + 1);
  const layers = new Map<NodeId, number>();
  const ready = shapes.filter(({ id }) => waiting.get(id) === 0).map(({ id }) => id);
  for (const id of ready) {
    const layer = layers.get(id) ?? 0;
    layers.set(id, layer);
    for (const { to } of out.get(id) ?? []) {
      layers.set(to, Math.max(layers.get(to) ?? 0, layer + 1));
      const left = (waiting.get(to) ?? 0) - 1;
      waiting.set(to, left);
      if (left === 0) ready.push(to);
    }
  }
  return layers;
};

const arrow = ({ to, loop, label }: Line): string => {
  const outcome = label === '' ? '' : `${label} `;
  return loop ? `${outcome}~> ${to} (back)` : `${outcome}-> ${to}`;
};

const shapeLines = (
  { id, kind, name, uses, marks }: Shape,
  lines: readonly Line[],
  layer: number,
): string[] => {
  const indent = '  '.repeat(Math.min(layer, INDENT_MAX));
  const title = name === undefined ? '' : ` "${name}"`;
  const mark = marks.length === 0 ? '' : ` [${marks.join(', ')}]`;
  return [
    `${indent}${SIGN[kind]} ${id}${title} (${uses})${mark}`,
    ...lines.map((line) => `${indent}    ${arrow(line)}`),
  ];
};

/** Draws a workflow for a terminal: each node below those it waits for, with its successors. */
export const drawAscii = (definition: WorkflowDefinition): string => {
  const picture = pictureOf(definition);
  const layers = layersOf(picture);
  const out = Map.groupBy(picture.lines, ({ from }) => from);
  const layerOf = (shape: Shape): number => layers.get(shape.id) ?? 0;
  return [
    picture.title,
    '* work   # effect, held for approval   ? gate   . end   ~> loop',
    '',
    ...picture.shapes
      .toSorted((one, other) => layerOf(one) - layerOf(other) || one.number - other.number)
      .flatMap((shape) => shapeLines(shape, out.get(shape.id) ?? [], layerOf(shape))),
    '',
  ].join('\n');
};
