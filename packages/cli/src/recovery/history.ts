import { reportCommand } from '@holdpoint/contracts/approval/question';
import type { ApiResponse } from '@holdpoint/contracts/catalog/api';
import { jobOf } from '@holdpoint/contracts/values/ids';
import { errorText, type Verdict } from '@holdpoint/contracts/recovery/verdict';
import type { AttemptView, StuckJob } from '@holdpoint/contracts/recovery/views';
import { columns, instant, shorten, span } from '../output/columns.ts';
import type { Line, Paint, Span } from '../output/painted.ts';
import { table } from '../output/table.ts';
import { nameOf, type Target } from '../job/target.ts';
import { becauseText } from './stuck.ts';
import { costText } from './usage-text.ts';

type History = ApiResponse<'recovery', 'history'>;

/** Null for values that are not a time. */
const iso = (at: number | undefined): string | null => {
  const date = new Date(at ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
};

const attemptJson = (attempt: AttemptView): Readonly<Record<string, unknown>> => {
  const { session, at, approach, outcome, error, node, usage, verdict, fingerprint, files, good } = attempt;
  return {
    session,
    timestamp: iso(at),
    approach: approach ?? null,
    success: outcome === 'succeeded',
    error: error === undefined ? null : errorText(error, verdict ?? {}),
    error_code: error?.code ?? null,
    node,
    attempt: attempt.attempt,
    outcome,
    class: attempt.class ?? null,
    because: verdict?.classification ?? null,
    same_approach: verdict?.same ?? [],
    verdict:
      verdict === undefined ? null : { kind: verdict.kind, rule: verdict.rule, reason: verdict.reason },
    fingerprint: fingerprint ?? null,
    files: files ?? [],
    duration_ms: usage?.durationMs ?? null,
    cost_usd: usage?.costUsd ?? null,
    input_tokens: usage?.inputTokens ?? null,
    output_tokens: usage?.outputTokens ?? null,
    good_commit: good ?? null,
  };
};

const stuckJson = ({ task, node, class: failure, reason, since, attempts }: StuckJob) => ({
  subtask_id: jobOf(task, node),
  reason,
  escalated_at: iso(since),
  attempt_count: attempts,
  class: failure,
});

type Status = 'stuck' | 'failed' | 'succeeded' | 'none';

const statusOf = ({ items, stuck }: History): Status => {
  if (stuck.length > 0) return 'stuck';
  const last = items.at(-1);
  if (last === undefined) return 'none';
  return last.outcome === 'succeeded' ? 'succeeded' : 'failed';
};

/** The history as JSON. Field names are stable. */
export const historyJson = ({ task, node }: Target, history: History): unknown => ({
  task,
  ...(node !== undefined && { node }),
  status: statusOf(history),
  attempts: history.items.map(attemptJson),
  stuck_subtasks: history.stuck.map(stuckJson),
});

const HEADER = ['Job', '#', 'Session', 'Time', 'Outcome', 'Class', 'Verdict', 'Took', 'Cost'] as const;
const PAINTS = { succeeded: 'good', failed: 'bad', in_doubt: 'waits' } as const satisfies Record<
  AttemptView['outcome'],
  Paint
>;

const rowOf = (attempt: AttemptView, job: string): readonly Span[] => {
  const { session, at, outcome, usage, verdict } = attempt;
  return [
    job,
    String(attempt.attempt),
    String(session),
    at === undefined ? '' : instant(at),
    { text: outcome.replace('_', ' '), paint: PAINTS[outcome] },
    attempt.class ?? '',
    verdict?.kind ?? '',
    usage?.durationMs === undefined ? '' : span(usage.durationMs),
    usage?.costUsd === undefined ? '' : costText(usage.costUsd),
  ];
};

const TEXT_SHOWN = 200;
const FILES_SHOWN = 8;

const filesText = (files: readonly string[]): string => {
  const more = files.length - FILES_SHOWN;
  return `${files.slice(0, FILES_SHOWN).join(', ')}${more > 0 ? `, and ${String(more)} more` : ''}`;
};

const sameText = (same: NonNullable<Verdict['same']>): string =>
  same.map(({ attempt, similarity }) => `attempt ${String(attempt)} (${String(similarity)})`).join(', ');

/** Fields that are too long for a column. */
const detailsOf = ({ approach, verdict, error, files = [], good }: AttemptView): readonly string[] =>
  columns(
    [
      ['approach', approach],
      ['because', verdict?.classification && becauseText(verdict.classification)],
      ['same as', verdict?.same && sameText(verdict.same)],
      ['verdict', verdict && `${verdict.reason} (${verdict.rule})`],
      ['error', error && `${error.code}: ${error.message}`],
      ['files', files.length === 0 ? undefined : filesText(files)],
      ['good', good && `a check passed on ${good.slice(0, 12)}`],
    ].flatMap(([name = '', text]) =>
      text === undefined || text === '' ? [] : [[name, shorten(text.trim(), TEXT_SHOWN)]],
    ),
    '    ',
  );

const stuckText = (stuck: readonly StuckJob[]): readonly Line[] =>
  stuck.map(({ task, node, class: failure, reason, since }) => [
    { text: `${jobOf(task, node)} is stuck since ${instant(since)}: `, paint: 'waits' },
    `${failure}: ${reason}: ${reportCommand(jobOf(task, node))}`,
  ]);

/** Each attempt with its details, oldest first. */
export const historyLines = (target: Target, { items, stuck }: History): readonly Line[] => {
  if (items.length === 0 && stuck.length === 0) return [`no attempts of ${nameOf(target)}`];
  const [head = '', ...rows] = table(
    HEADER,
    items.map((item) => rowOf(item, target.node === undefined ? item.node : '')),
  );
  return [
    ...(items.length === 0 ? [] : [head]),
    ...items.flatMap((item, i): readonly Line[] => [rows[i] ?? '', ...detailsOf(item)]),
    ...stuckText(stuck),
  ];
};
