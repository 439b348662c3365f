import { held, type Verdict } from './checks/verdicts.ts';
import type { Tally } from './fault-runner.ts';

export type Report = {
  readonly seed: string;
  readonly target: string;
  readonly durationMs: number;
  readonly tasksPerSecond: number;
  readonly tasks: number;
  readonly phases: Readonly<Record<string, number>>;
  readonly settledAfterMs: number | undefined;
  readonly faults: Readonly<Record<string, number>>;
  readonly skipped: readonly { readonly fault: string; readonly times: number; readonly reason: string }[];
  readonly notCarriedThrough: readonly string[];
  readonly ends: number;
  readonly history: string;
  readonly verdicts: readonly Verdict[];
  readonly held: boolean;
};

export const tallyOf = (
  { done, skipped, failed }: Tally,
  impossible: Report['skipped'],
): Pick<Report, 'faults' | 'skipped' | 'notCarriedThrough'> => ({
  faults: Object.fromEntries(done),
  skipped: [
    ...impossible.filter(({ fault }) => !skipped.has(fault)),
    ...[...skipped].map(([fault, { reason, times }]) => ({ fault, times, reason })),
  ],
  notCarriedThrough: failed,
});

const line = ({ id, promise, checked, broken }: Verdict): string => {
  const word = checked === 0 ? 'NOT CHECKED' : broken === 0 ? 'held' : `BROKEN ${String(broken)}`;
  return `  ${id.padEnd(4)} ${String(checked).padStart(9)}  ${word.padEnd(12)} ${promise}`;
};

const violationsOf = ({ id, violations, broken }: Verdict): readonly string[] => [
  ...violations.map((violation) => `  ${id}: ${violation}`),
  ...(broken > violations.length ? [`  ${id}: … and ${String(broken - violations.length)} more`] : []),
];

const counts = (numbers: Readonly<Record<string, number>>): string =>
  Object.entries(numbers)
    .map(([name, count]) => `${name} ${String(count)}`)
    .join(', ') || 'none';

export const reportText = (report: Report): readonly string[] => {
  const { verdicts, skipped, notCarriedThrough, settledAfterMs } = report;
  const wrong = verdicts.filter((verdict) => !held(verdict));
  return [
    '',
    `${String(report.tasks)} tasks, seed ${report.seed}: ${counts(report.phases)}`,
    `faults: ${counts(report.faults)}; ${String(report.ends)} processes ended`,
    ...skipped.map(({ fault, times, reason }) =>
      times === 0
        ? `not to be had: ${fault}: ${reason}`
        : `skipped ${String(times)} times: ${fault}: ${reason}`,
    ),
    ...notCarriedThrough.map((text) => `not carried through: ${text}`),
    settledAfterMs === undefined
      ? 'it did not come to rest'
      : `settled ${(settledAfterMs / 1_000).toFixed(0)} s after the last fault was mended`,
    '',
    '  id     checked  held         promise',
    ...verdicts.map(line),
    ...(wrong.length === 0 ? [] : ['', ...wrong.flatMap(violationsOf)]),
    '',
    report.held
      ? 'Every promise held.'
      : `${String(wrong.length)} promises did not hold, or were not checked. What happened is in ${report.history}`,
  ];
};
