import type { Counts } from '@holdpoint/contracts/api/admin';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { TaskPhase } from '@holdpoint/contracts/task/status';
import { instant, shorten, span } from '../../output/columns.ts';
import { cutLine, type Line, type Paint, type Span } from '../../output/painted.ts';
import type { Sample } from './sample.ts';

/** Height of a frame: fits the smallest terminal with one line left. */
export const ROWS_MAX = 23;
const STUCK_SHOWN = 3;
const CIRCUITS_SHOWN = 3;
const TITLE_MAX = 48;

const LABEL = 11;
const label = (text: string): Span => ({ text: text.padEnd(LABEL), paint: 'strong' });

const away: Span = { text: 'unknown: no answer', paint: 'bad' };

const countOf = (counts: Counts['open'] | Counts['ended'], status: string): number =>
  counts.find((each) => each.status === status)?.count ?? 0;

const metric = (count: number, what: string, paint?: Paint): Span => {
  const text = `${what} ${String(count)}`;
  return count > 0 && paint !== undefined ? { text, paint } : text;
};

const joined = (spans: readonly Span[]): readonly Span[] =>
  spans.flatMap((each, i) => (i === 0 ? [each] : [' · ', each]));

const PHASES: Readonly<Partial<Record<TaskPhase, Paint>>> = {
  executing: 'busy',
  awaiting_approval: 'waits',
  recovering: 'waits',
  paused: 'waits',
  circuit_open: 'bad',
};
const OPEN_PHASES = ['executing', 'awaiting_approval', 'recovering'] as const satisfies readonly TaskPhase[];
const OTHER_PHASES = [
  'queued',
  'execution_ready',
  'paused',
  'circuit_open',
] as const satisfies readonly TaskPhase[];
const ENDED = [
  ['completed', 'good'],
  ['failed', 'bad'],
  ['cancelled', undefined],
] as const;

const taskLines = (counts: Counts | undefined): readonly Line[] => {
  if (counts === undefined) return [[label('TASKS'), away], '', ''];
  const of = (phases: readonly TaskPhase[]) =>
    joined(phases.map((phase) => metric(countOf(counts.open, phase), phase, PHASES[phase])));
  return [
    [label('TASKS'), ...of(OPEN_PHASES), ...(counts.more ? [' (limit reached)'] : [])],
    [label(''), ...of(OTHER_PHASES)],
    [
      label('last hour'),
      ...joined(ENDED.map(([status, paint]) => metric(countOf(counts.ended, status), status, paint))),
    ],
  ];
};

const approvalLines = ({ counts, oldest, at }: Sample): readonly Line[] => {
  const approvals = counts.approvals;
  if (approvals === undefined) return [[label('APPROVALS'), away], ''];
  const pending = approvals.open.find(({ status }) => status === 'pending');
  const decided = ['approved', 'rejected', 'changes_requested', 'expired'].map((status) =>
    metric(countOf(approvals.ended, status), status),
  );
  const waits: Span =
    oldest === undefined
      ? 'none'
      : `oldest ${span(at - oldest.requestedAt)}: ${shorten(oldest.title, TITLE_MAX)}`;
  return [
    [label('APPROVALS'), ...joined([metric(pending?.count ?? 0, 'pending', 'waits'), waits])],
    [label('last hour'), ...joined(decided)],
  ];
};

const effectLines = ({ counts, inDoubt: doubts, inDoubtMore: doubtsMore }: Sample): readonly Line[] => {
  const ledger = counts.executor;
  if (ledger === undefined) return [[label('EFFECTS'), away], ''];
  const inDoubt: Span =
    doubts === undefined
      ? { text: 'in doubt: unknown', paint: 'bad' }
      : {
          text: `in doubt ${String(doubts)}${doubtsMore === true ? ' or more' : ''}`,
          paint: doubts > 0 ? 'bad' : 'faint',
        };
  return [
    [
      label('EFFECTS'),
      ...joined([
        metric(countOf(ledger.open, 'started'), 'running', 'busy'),
        metric(countOf(ledger.open, 'prepared'), 'prepared'),
        inDoubt,
      ]),
    ],
    [
      label('last hour'),
      ...joined(
        ['applied', 'failed_clean', 'refused', 'cancelled'].map((status) =>
          metric(countOf(ledger.ended, status), status),
        ),
      ),
    ],
  ];
};

const more = (shown: number, all: number): readonly Line[] =>
  all > shown ? [[label(''), `and ${String(all - shown)} more`]] : [];

const stuckLines = ({ stuck }: Sample): readonly Line[] => {
  if (stuck === undefined) return [[label('STUCK'), away]];
  const rows = stuck
    .slice(0, STUCK_SHOWN)
    .map(({ task, node, class: failure }) => [label(''), `${task}/${node} ${failure}`]);
  const head: Span = stuck.length > 0 ? { text: `${String(stuck.length)} jobs`, paint: 'bad' } : 'none';
  return [[label('STUCK'), head], ...rows, ...more(STUCK_SHOWN, stuck.length)];
};

const circuitLines = ({ circuits }: Sample): readonly Line[] => {
  if (circuits === undefined) return [[label('CIRCUITS'), away]];
  const head: Span =
    circuits.length > 0 ? { text: `${String(circuits.length)} open`, paint: 'bad' } : 'closed';
  const rows = circuits
    .slice(0, CIRCUITS_SHOWN)
    .map(({ target, state }) => [label(''), `${shorten(target, TITLE_MAX)} ${state}`]);
  return [[label('CIRCUITS'), head], ...rows, ...more(CIRCUITS_SHOWN, circuits.length)];
};

const STREAMS = [
  ['HP_EVT', 'events'],
  ['HP_CMD', 'commands'],
  ['HP_LOG', 'log lines'],
] as const;

/** Rate per second since the previous sample. A stream that lost messages restarts its rate. */
const rateOf = (stream: string, before: Sample | undefined, { published, at }: Sample): string => {
  const [then, now] = [before?.published[stream], published[stream]];
  if (before === undefined || then === undefined || now === undefined || now < then || at <= before.at)
    return '-';
  return `${(((now - then) * 1_000) / (at - before.at)).toFixed(1)}/s`;
};

const busLines = (sample: Sample, before: Sample | undefined): readonly Line[] => {
  const rates = STREAMS.map(([stream, what]) => `${what} ${rateOf(stream, before, sample)}`);
  const { lags } = sample;
  if (lags === undefined)
    return [
      [label('BUS'), ...joined(rates)],
      [label('lag'), away],
    ];
  const behind = lags.filter(({ pending }) => pending > 0).toSorted((a, b) => b.pending - a.pending);
  const lag: readonly Span[] =
    behind.length === 0
      ? ['none']
      : joined(behind.slice(0, 4).map(({ consumer, pending }) => metric(pending, consumer, 'waits')));
  return [
    [label('BUS'), ...joined(rates)],
    [label('lag'), ...lag],
  ];
};

const head = ({ at, away: silent, missing = [] }: Sample): readonly Line[] => {
  const there = SERVICES.length - silent.length;
  const problems = [
    ...(silent.length > 0 ? [`away: ${silent.join(', ')}`] : []),
    ...(missing.length > 0 ? [`missing executors: ${missing.join(', ')}`] : []),
  ];
  const answered = `${String(there)} of ${String(SERVICES.length)} services`;
  return [
    [
      { text: 'holdpoint top', paint: 'strong' },
      `  ${instant(at)}  `,
      { text: answered, paint: silent.length === 0 ? 'good' : 'bad' },
    ],
    problems.length === 0 ? '' : [{ text: problems.join(' · '), paint: 'bad' }],
  ];
};

/** One frame: the current state, and the changes since the previous sample. */
export const frameOf = (sample: Sample, before: Sample | undefined, columns: number): readonly Line[] =>
  [
    ...head(sample),
    ...taskLines(sample.counts.orchestrator),
    ...approvalLines(sample),
    ...effectLines(sample),
    ...stuckLines(sample),
    ...circuitLines(sample),
    ...busLines(sample, before),
  ]
    .slice(0, ROWS_MAX)
    .map((line) => cutLine(line, columns));
