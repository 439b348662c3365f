import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { captionOf, pictureOf, type Line, type Shape } from './picture.ts';

/** Escapes every character that could end a label, start a tag or act as Markdown. */
const escaped = (text: string): string =>
  text.replaceAll(/[^\p{L}\p{N} .,:_-]/gu, (char) => `#${String(char.codePointAt(0))};`);

const BRACKETS: Readonly<Record<Shape['kind'], readonly [string, string]>> = {
  effect: ['[[', ']]'],
  gate: ['{{', '}}'],
  end: ['([', '])'],
  work: ['[', ']'],
};

const STYLED: ReadonlySet<Shape['kind']> = new Set(['effect', 'gate']);

const shapeText = (shape: Shape): string => {
  const [open, close] = BRACKETS[shape.kind];
  const style = STYLED.has(shape.kind) ? `:::${shape.kind}` : '';
  return `  n${String(shape.number)}${open}"${captionOf(shape).map(escaped).join('<br/>')}"${close}${style}`;
};

const lineText = ({ from, to, loop, label }: Line, numbers: ReadonlyMap<string, number>): string => {
  const arrow = loop ? '-.->' : '-->';
  const text = label === '' ? '' : `|${label}|`;
  return `  n${String(numbers.get(from))} ${arrow}${text} n${String(numbers.get(to))}`;
};

/** Draws a Mermaid flowchart; edges that lead back are dashed. */
export const drawMermaid = (definition: WorkflowDefinition): string => {
  const { shapes, lines } = pictureOf(definition);
  const numbers = new Map<string, number>(shapes.map(({ id, number }) => [id, number]));
  return [
    'flowchart TD',
    ...shapes.map(shapeText),
    ...lines.map((line) => lineText(line, numbers)),
    '  classDef effect stroke-width:3px',
    '  classDef gate stroke-dasharray:4',
    '',
  ].join('\n');
};
