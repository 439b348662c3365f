import { styleText } from 'node:util';
import { printable } from './printable.ts';

/** What a colour says. Without colours the text says it as well. */
export type Paint = 'good' | 'bad' | 'waits' | 'busy' | 'faint' | 'strong';

/** Text that may come from anybody, and how it is shown where there are colours. */
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
  // The stream is not asked: whether there are colours has been decided by now.
  return colour && typeof span !== 'string' && text !== ''
    ? styleText(FORMATS[span.paint], text, { validateStream: false })
    : text;
};

/** One line for a terminal. Escape sequences are put around what was made harmless before, and nowhere else. */
export const paintLine = (line: Line, colour: boolean): string =>
  typeof line === 'string' ? printable(line) : line.map((span) => paintSpan(span, colour)).join('');

/** The part of a line that a terminal shows in one row. */
export const cutLine = (line: Line, columns: number): Line => {
  let left = columns;
  return (typeof line === 'string' ? [line] : line).map((span): Span => {
    const text = printable(textOf(span)).slice(0, left);
    left -= text.length;
    return typeof span === 'string' ? text : { ...span, text };
  });
};

/** Rows that would not fit into a terminal are cut there: a table that is broken into pieces is none. */
export const fitLines = (
  lines: readonly Line[],
  terminal: { readonly columns: number } | undefined,
): readonly Line[] => (terminal === undefined ? lines : lines.map((line) => cutLine(line, terminal.columns)));
