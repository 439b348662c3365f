import type { ListDisplay } from '@holdpoint/workflows/config/config';
import type { Line } from '../output/painted.ts';
import { table } from '../output/table.ts';
import { chosenFields } from './chosen-fields.ts';
import { hasEnded, type Job } from './job.ts';
import { type JobRecord, listRecord } from './record.ts';
import { isEnded, endedWell, statusSpan } from './status.ts';

export type Filter = {
  readonly all: boolean;
  readonly dismissFailures: boolean;
  /** The list is of one task, which may have ended. */
  readonly ofTask: boolean;
};

export type Selection = {
  readonly jobs: readonly Job[];
  readonly hidden: number;
  /** In words. */
  readonly outcome: string;
};

const counted = (count: number): string => `${count.toLocaleString('en-US')} ${count === 1 ? 'job' : 'jobs'}`;

/** The jobs of open tasks that still need attention, or all jobs. */
export const select = (jobs: readonly Job[], { all, dismissFailures, ofTask }: Filter): Selection => {
  const wanted = jobs.filter(({ run, node: { job } }) => {
    if (all) return true;
    if (endedWell(job) || (!ofTask && hasEnded(run))) return false;
    return !(dismissFailures && isEnded(job));
  });
  const outcome = wanted.length === 0 ? 'no jobs' : counted(wanted.length);
  return { jobs: wanted, hidden: jobs.length - wanted.length, outcome };
};

const hiddenText = (hidden: number): string =>
  hidden === 0 ? '' : `, ${counted(hidden)} hidden (--all shows them)`;

const headline = ({ outcome, hidden }: Selection): Line => `${outcome}${hiddenText(hidden)}`;

export const listJson = ({ jobs, hidden, outcome }: Selection, display: ListDisplay): unknown => ({
  header: { outcome, ...(hidden > 0 && { hidden: String(hidden) }) },
  jobs: jobs.map((job) => chosenFields(listRecord(job), display)),
});

/** One field per line, without empty fields. */
export const recordLines = (record: JobRecord, job?: Job): readonly Line[] => {
  const fields = Object.entries(record).filter(([, value]) => value !== '');
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => [
    { text: `${name.replaceAll('_', ' ').padEnd(width)}  `, paint: 'faint' },
    name === 'status' && job !== undefined ? statusSpan(job.node.job) : value,
  ]);
};

export const listBlocks = (selection: Selection, display: ListDisplay): readonly Line[] => [
  headline(selection),
  ...selection.jobs.flatMap((job) => ['', ...recordLines(chosenFields(listRecord(job), display), job)]),
];

const HEADER = ['Job', 'Status', 'Created', 'Wait', 'Failed', 'Uses'] as const;

export const listTable = (selection: Selection): readonly Line[] => {
  if (selection.jobs.length === 0) return [headline(selection)];
  const rows = selection.jobs.map((job) => {
    const { created = '', wait = '', command = '', failed = '' } = listRecord(job);
    return [job.id, statusSpan(job.node.job), created, wait, failed, command];
  });
  return [headline(selection), ...table(HEADER, rows)];
};
