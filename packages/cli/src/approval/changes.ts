import { STATUS_TEXTS } from './status-texts.ts';
import type { ApprovalDetail } from '@holdpoint/contracts/approval/queries';
import type { Line, Paint } from '../output/painted.ts';
import { printableLines } from '../output/printable.ts';

const paintOf = (line: string): Paint | undefined => {
  if (line.startsWith('+')) return 'good';
  if (line.startsWith('-')) return 'bad';
  return line.startsWith('@@') ? 'busy' : undefined;
};

const diffLine = (line: string): Line => {
  const paint = paintOf(line);
  return paint === undefined ? `  ${line}` : [{ text: `  ${line}`, paint }];
};

/** Outcome of the last review, and the differences in the effect and the gate's text since then. */
export const changesText = ({ previous }: ApprovalDetail): readonly Line[] => {
  if (previous === undefined) return [];
  const { id, status, comment, changes } = previous;
  return [
    `previously, ${id} was ${STATUS_TEXTS[status]}`,
    ...(comment === undefined ? [] : printableLines(comment).map((line) => `  | ${line}`.trimEnd())),
    'changes since the last review',
    ...(changes === '' ? ['  nothing'] : printableLines(changes.trimEnd()).map(diffLine)),
  ];
};

export const indented = (lines: readonly Line[]): readonly Line[] =>
  lines.map((line) => (typeof line === 'string' ? `  ${line}` : ['  ', ...line]));
