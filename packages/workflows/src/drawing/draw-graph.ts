import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { drawAscii } from './ascii.ts';
import { drawDot } from './dot.ts';
import { drawMermaid } from './mermaid.ts';

export const DRAWING_FORMATS = ['mermaid', 'dot', 'ascii'] as const;
export type DrawingFormat = (typeof DRAWING_FORMATS)[number];

const DRAW: Readonly<Record<DrawingFormat, (definition: WorkflowDefinition) => string>> = {
  mermaid: drawMermaid,
  dot: drawDot,
  ascii: drawAscii,
};

/** Draws the graph of a workflow. The text ends with a line break. */
export const drawGraph = (definition: WorkflowDefinition, format: DrawingFormat): string =>
  DRAW[format](definition);
