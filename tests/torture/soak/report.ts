import type { Report } from '../report.ts';
import type { Left } from './retention.ts';
import { isBad, type AssessedSeries, type Point, SHARE, type Series } from './series.ts';

export type SoakReport = Pick<
  Report,
  'seed' | 'tasksPerSecond' | 'tasks' | 'faults' | 'skipped' | 'notCarriedThrough' | 'settledAfterMs'
> & {
  readonly loadedForMs: number;
  readonly keepMs: number;
  readonly everyMs: number;
  /** Tasks that the soak cancelled because they waited for a person. */
  readonly givenUp: number;
  readonly stillThere: readonly string[];
  readonly left: readonly Left[];
  /** Applied effects, and those applied more than once. */
  readonly effects: number;
  readonly twice: readonly string[];
  readonly series: readonly (AssessedSeries & { readonly points: readonly Point[] })[];
  readonly held: boolean;
};

const MIB = 1_048_576;

const shown = (value: number, unit: Series['unit']): string => {
  if (!Number.isFinite(value)) return '-';
  if (unit === 'bytes') return `${(value / MIB).toFixed(value < 10 * MIB ? 2 : 0)} MiB`;
  return `${value.toFixed(unit === 'tasks/s' ? 1 : 0)} ${unit}`;
};

const HOUR_S = 3_600;

const row = ({ name, unit, finding, line, most, samples }: AssessedSeries): readonly string[] => [
  name,
  finding,
  line === undefined ? '-' : shown(line.from, unit),
  line === undefined ? '-' : shown(line.to, unit),
  line === undefined ? '-' : `${shown(line.perSecond * HOUR_S, unit)}/h`,
  shown(most, unit),
  String(samples),
];

const HEAD = ['series', 'finding', 'from', 'to', 'slope', 'most', 'samples'];

const table = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths = HEAD.map((_, i) => Math.max(...rows.map((cells) => cells[i]?.length ?? 0)));
  return rows.map((cells) =>
    `  ${cells.map((cell, i) => (i < 2 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ')}`.trimEnd(),
  );
};

const minutes = (ms: number): string => `${(ms / 60_000).toFixed(1)} min`;

const leftText = ({ service, retired, overdue, rows }: Left): string =>
  `  ${service}: ${String(retired)} removed in time, ${String(overdue)} not; ${String(rows)} rows left when all that had ended was removed`;

export const soakText = (report: SoakReport): readonly string[] => {
  const bad = report.series.filter(isBad);
  const faults = Object.entries(report.faults).map(([name, times]) => `${name} ${String(times)}`);
  return [
    '',
    `${minutes(report.loadedForMs)} of ${String(report.tasksPerSecond)} tasks a second: ${String(report.tasks)} tasks, ${String(report.effects)} effects, seed ${report.seed}`,
    `faults: ${faults.join(', ') || 'none'}; ${String(report.givenUp)} tasks given up by a person`,
    ...report.notCarriedThrough.map((text) => `not carried through: ${text}`),
    `kept for ${minutes(report.keepMs)} after the end; looked at every ${String(report.everyMs / 1_000)} s`,
    report.settledAfterMs === undefined
      ? `not come to rest: ${report.stillThere.join(', ')}`
      : `came to rest ${(report.settledAfterMs / 1_000).toFixed(0)} s after the load`,
    ...report.left.map(leftText),
    ...(report.twice.length === 0 ? [] : [`applied more than once: ${report.twice.join(', ')}`]),
    '',
    `The line through the second half of each series. It grows when it rises by more than ${String(SHARE * 100)} %, and by more than comes and goes.`,
    '',
    ...table([HEAD, ...report.series.map(row)]),
    '',
    bad.length === 0 ? 'Nothing grows.' : `Grows: ${bad.map(({ name }) => name).join(', ')}`,
    report.held ? 'Everything held.' : 'Not everything held.',
  ];
};
