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

/** What became of the last review, and what of the effect and of the gate's text is different by now. */
export const changesText = ({ previous }: ApprovalDetail): readonly Line[] => {
  if (previous === undefined) return [];
  const { id, status, comment, changes } = previous;
  return [
    `before this, ${id} was ${status.replace('_', ' ')}`,
    ...(comment === undefined ? [] : printableLines(comment).map((line) => `  | ${line}`.trimEnd())),
    'what changed since the last review',
    ...(changes === '' ? ['  nothing'] : printableLines(changes.trimEnd()).map(diffLine)),
  ];
};

/** The same lines further to the right. */
export const indented = (lines: readonly Line[]): readonly Line[] =>
  lines.map((line) => (typeof line === 'string' ? `  ${line}` : ['  ', ...line]));
