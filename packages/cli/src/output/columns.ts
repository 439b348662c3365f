import { printable } from './printable.ts';

/** Longer cells are not aligned: one of them would pad every other row. */
const PADDED_MAX = 100;

/** Aligns rows as text. Cells may be untrusted. The last column is not padded. */
export const columns = (rows: readonly (readonly string[])[], indent = ''): readonly string[] => {
  const cells = rows.map((row) => row.map(printable));
  const widths = cells.reduce<readonly number[]>(
    (widest, row) =>
      Array.from({ length: Math.max(widest.length, row.length) }, (_, i) =>
        Math.max(widest[i] ?? 0, Math.min(row[i]?.length ?? 0, PADDED_MAX)),
      ),
    [],
  );
  return cells.map(
    (row) =>
      indent +
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
  );
};

/** The same with a header row; empty without rows. */
export const listing = (header: readonly string[], rows: readonly (readonly string[])[]): readonly string[] =>
  rows.length === 0 ? [] : columns([header, ...rows]);

/** Untrusted numbers can be invalid times. */
const isoText = (epochMs: number): string | undefined => {
  const date = new Date(epochMs);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
};

/** `2026-01-15 09:30:00Z`: independent of the machine's time zone. */
export const instant = (epochMs: number): string =>
  isoText(epochMs)
    ?.replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z') ?? 'unknown';

/** `09:30:00.123` */
export const clock = (epochMs: number): string => isoText(epochMs)?.slice(-13, -1) ?? 'unknown'.padEnd(12);

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** `4 min`: rounded down. */
export const span = (ms: number): string => {
  const unit = UNITS.find(([, size]) => ms >= size);
  return unit === undefined ? '0 s' : `${String(Math.floor(ms / unit[1]))} ${unit[0]}`;
};

/** One line of at most `max` characters. */
export const shorten = (text: string, max: number): string => {
  const line = text.split(/[\r\n]+/, 1)[0] ?? '';
  return line === text && line.length <= max ? text : `${line.slice(0, max - 1)}…`;
};
