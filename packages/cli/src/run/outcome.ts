import { jobOf } from '@holdpoint/contracts/values/ids';
import type { JobStatus } from '@holdpoint/contracts/task/status';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { columns } from '../output/columns.ts';
import { EXIT } from '../kit/failure.ts';
import type { Line } from '../output/painted.ts';

/** A submitted run and its template. */
export type SubmittedRun = {
  readonly run: TaskView;
  readonly template: { readonly selector: string; readonly id: string; readonly version: string };
  /** The specification of the run. */
  readonly item?: string | undefined;
};

const rootsOf = ({ id, entries }: TaskView): readonly string[] => entries.map((entry) => jobOf(id, entry));

const nextOf = ({ run }: SubmittedRun): Readonly<Record<'schedule' | 'show' | 'tail', string>> => {
  const first = rootsOf(run)[0] ?? `${run.id}/<node>`;
  return {
    schedule: `holdpoint task schedule --job ${first}`,
    show: `holdpoint task show ${first}`,
    tail: `holdpoint task tail --follow ${first}`,
  };
};

const identityJson = ({ run, template, item }: SubmittedRun) => ({
  run_id: run.id,
  workflow_template_selector: template.selector,
  workflow_template_id: template.id,
  workflow_template_version: template.version,
  root_job_ids: rootsOf(run),
  ...(item !== undefined && { item }),
});

export const enqueuedJson = (enqueued: SubmittedRun) => ({
  outcome: 'workflow_run_enqueued',
  ...identityJson(enqueued),
  next: nextOf(enqueued),
});

const identityRows = ({ run, template, item }: SubmittedRun): readonly (readonly string[])[] => [
  ['Run', run.id],
  ...(item === undefined ? [] : [['Item', item]]),
  ['Template', `${template.id}@${template.version}`],
  ['Selector', template.selector],
  ['Root jobs', rootsOf(run).join(', ')],
];

export const enqueuedLines = (enqueued: SubmittedRun): readonly Line[] => {
  const { schedule, show, tail } = nextOf(enqueued);
  return columns([
    ['Outcome', 'workflow run enqueued'],
    ...identityRows(enqueued),
    ['Next', schedule],
    ['', show],
    ['', tail],
  ]);
};

type Ending = 'succeeded' | 'failed' | 'blocked' | 'cancelled';

const ENDINGS: Readonly<Partial<Record<JobStatus, Ending>>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'cancelled',
  blocked_by_dependency: 'blocked',
  blocked_by_approval: 'blocked',
  // Of a run that waits for a person.
  escalated: 'blocked',
  paused: 'blocked',
};

const endedAs = ({ id, nodes }: TaskView, ending: Ending): readonly string[] =>
  nodes.filter(({ job }) => ENDINGS[job] === ending).map((node) => jobOf(id, node.id));

/** How the run ended. A route can repair failed jobs. A run that waits for a person counts as blocked. */
const endingOf = ({ outcome, phase }: TaskView): Ending => {
  if (outcome !== undefined) return outcome;
  switch (phase) {
    case 'completed':
      return 'succeeded';
    case 'cancelled':
    case 'failed':
      return phase;
    default:
      return 'blocked';
  }
};

const EXITS: Readonly<Record<Ending, number>> = {
  succeeded: EXIT.ok,
  failed: EXIT.failed,
  cancelled: EXIT.failed,
  blocked: EXIT.waiting,
};

export const exitOfRun = (run: TaskView): number => EXITS[endingOf(run)];

const terminalState = (run: TaskView): 'succeeded' | 'failed' | 'blocked' => {
  const ending = endingOf(run);
  return ending === 'cancelled' ? 'failed' : ending;
};

export const terminalJson = (enqueued: SubmittedRun) => ({
  outcome: 'workflow_run_terminal',
  terminal_state: terminalState(enqueued.run),
  exit_code: exitOfRun(enqueued.run),
  ...identityJson(enqueued),
  succeeded: endedAs(enqueued.run, 'succeeded'),
  failed: endedAs(enqueued.run, 'failed'),
  blocked: endedAs(enqueued.run, 'blocked'),
  cancelled: endedAs(enqueued.run, 'cancelled'),
});

export const terminalLines = (enqueued: SubmittedRun): readonly Line[] => {
  const { run } = enqueued;
  const listed = (ending: Ending): string => endedAs(run, ending).join(', ') || '-';
  return columns([
    ['Outcome', `workflow run ${terminalState(run)}`],
    ...identityRows(enqueued),
    ['Exit', String(exitOfRun(run))],
    ['Succeeded', listed('succeeded')],
    ['Blocked', listed('blocked')],
    ['Failed', listed('failed')],
    ['Cancelled', listed('cancelled')],
    ...(run.error === undefined ? [] : [['Error', `${run.error.code}: ${run.error.message}`]]),
  ]);
};

/** The option that created several runs. */
export type Batch = { readonly repeat: number } | { readonly batch_dir: string; readonly spec_count: number };

export const manyEnqueuedJson = (batch: Batch, runs: readonly SubmittedRun[]) => ({
  outcome: 'workflow_runs_enqueued',
  ...batch,
  runs: runs.map(enqueuedJson),
});

/** `runs` were followed to their end; `left` were only submitted. */
export const manyTerminalJson = (
  batch: Batch,
  runs: readonly SubmittedRun[],
  left: readonly SubmittedRun[],
) => {
  const last = runs.at(-1);
  return {
    outcome: 'workflow_runs_terminal',
    terminal_state: last === undefined ? 'succeeded' : terminalState(last.run),
    exit_code: last === undefined ? EXIT.ok : exitOfRun(last.run),
    ...batch,
    runs: [...runs.map(terminalJson), ...left.map(enqueuedJson)],
  };
};
