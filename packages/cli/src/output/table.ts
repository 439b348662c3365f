import { type Line, type Span, textOf } from './painted.ts';
import { printable } from './printable.ts';

/** Longer cells are not aligned: one of them would pad every other row. */
const PADDED_MAX = 60;
const GAP = '  ';

const widthOf = (span: Span): number => printable(textOf(span)).length;

const padded = (span: Span, width: number): readonly Span[] => [
  span,
  ' '.repeat(Math.max(0, width - widthOf(span))),
];

/** Aligned rows with a header. Empty columns are dropped. */
export const table = (header: readonly string[], rows: readonly (readonly Span[])[]): readonly Line[] => {
  const used = header.map((_, i) => rows.some((row) => textOf(row[i] ?? '') !== ''));
  const kept = <Cell>(cells: readonly Cell[]): readonly Cell[] => cells.filter((_, i) => used[i] === true);
  const head = kept(header.map((text): Span => ({ text, paint: 'faint' })));
  const lines = [head, ...rows.map(kept)];
  const widths = head.map((_, i) =>
    lines.reduce((most, row) => Math.max(most, Math.min(widthOf(row[i] ?? ''), PADDED_MAX)), 0),
  );
  return lines.map((row) =>
    row.flatMap((cell, i) => (i === row.length - 1 ? [cell] : [...padded(cell, widths[i] ?? 0), GAP])),
  );
};
