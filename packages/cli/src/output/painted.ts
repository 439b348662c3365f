import { styleText } from 'node:util';
import { printable } from './printable.ts';

/** Meaning of a colour. The text carries the same meaning without colours. */
export type Paint = 'good' | 'bad' | 'waits' | 'busy' | 'faint' | 'strong';

/** Possibly untrusted text, with an optional colour. */
export type Span = string | { readonly text: string; readonly paint: Paint };
export type Line = string | readonly Span[];

const FORMATS = {
  good: 'green',
  bad: 'red',
  waits: 'yellow',
  busy: 'cyan',
  faint: 'dim',
  strong: 'bold',
} as const satisfies Record<Paint, string>;

export const textOf = (span: Span): string => (typeof span === 'string' ? span : span.text);

const paintSpan = (span: Span, colour: boolean): string => {
  const text = printable(textOf(span));
  // The caller has decided about colours.
  return colour && typeof span !== 'string' && text !== ''
    ? styleText(FORMATS[span.paint], text, { validateStream: false })
    : text;
};

/** Paints one line. Text is escaped before colour sequences are added. */
export const paintLine = (line: Line, colour: boolean): string =>
  typeof line === 'string' ? printable(line) : line.map((span) => paintSpan(span, colour)).join('');

/** Cuts a line to the width of the terminal. */
export const cutLine = (line: Line, columns: number): Line => {
  let left = columns;
  return (typeof line === 'string' ? [line] : line).map((span): Span => {
    const text = printable(textOf(span)).slice(0, left);
    left -= text.length;
    return typeof span === 'string' ? text : { ...span, text };
  });
};

/** Cuts lines to the terminal: wrapped tables are unreadable. */
export const fitLines = (
  lines: readonly Line[],
  terminal: { readonly columns: number } | undefined,
): readonly Line[] => (terminal === undefined ? lines : lines.map((line) => cutLine(line, terminal.columns)));
