import {
  artifactText,
  attemptText,
  criteriaText,
  reviewText,
} from '@holdpoint/contracts/approval/facts-text';
import type { ApiResponse } from '@holdpoint/contracts/catalog/api';
import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { ProgramEvent } from '@holdpoint/contracts/program/events';
import { TaskEvent } from '@holdpoint/contracts/task/events';
import type { TaskPhase } from '@holdpoint/contracts/task/status';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { QUESTION_LABELS } from '../output/question-labels.ts';
import type { Terminal } from '../kit/environment.ts';
import { fitLines, type Line } from '../output/painted.ts';
import { clock, columns, instant, listing, shorten } from '../output/columns.ts';
import { eventText } from '../output/event-text.ts';
import { programText } from './program-text.ts';
import { EXIT } from '../kit/failure.ts';
import { printableLines } from '../output/printable.ts';
import { stuckLines } from '../recovery/stuck.ts';
import { spentText } from '../recovery/usage-text.ts';

const GOAL_SHOWN = 60;
const REASON_SHOWN = 100;

/** The pending question: of a program, about an in-doubt effect or about a stuck job. */
const askedText = (task: TaskView, verdict: TaskView['nodes'][number]['verdict']): string => {
  if (task.state !== undefined) return QUESTION_LABELS.input;
  return verdict === undefined || verdict.class === 'EFFECT_IN_DOUBT'
    ? QUESTION_LABELS.in_doubt
    : QUESTION_LABELS.stuck;
};

const nodeRow = (
  task: TaskView,
  { id, status, attempt, reason, approval, question, error, verdict, session }: TaskView['nodes'][number],
): readonly string[] => [
  id,
  status,
  [
    ...(attempt > 1 ? [`attempt ${String(attempt)}`] : []),
    ...(session === undefined || session === 1 ? [] : [`session ${String(session)}`]),
  ].join(', '),
  [
    question === undefined ? approval : `${askedText(task, verdict)} ${question}`,
    reason,
    verdict && `${verdict.kind} (${verdict.class})`,
    error && `${error.code}: ${error.message}`,
  ]
    .filter((part) => part !== undefined)
    .join('  '),
];

const rowsOf = (name: string, text: string): readonly (readonly string[])[] =>
  printableLines(text).map((line, i) => [i === 0 ? name : '', line]);

/** Acceptance criteria, reviews and the latest artifact, as far as the task has them. */
const evidenceRows = (task: TaskView): readonly (readonly string[])[] => {
  const { acceptanceCriteria, reviews = {}, artifact, onBehalfOf } = task;
  return [
    ...(acceptanceCriteria === undefined ? [] : rowsOf('criteria', criteriaText(acceptanceCriteria))),
    ...(onBehalfOf === undefined ? [] : rowsOf('on behalf of', attemptText(onBehalfOf))),
    ...(reviews.spec === undefined ? [] : rowsOf('spec review', reviewText(reviews.spec))),
    ...(reviews.quality === undefined ? [] : rowsOf('quality review', reviewText(reviews.quality))),
    ...(artifact === undefined ? [] : rowsOf('artifact', artifactText(artifact))),
  ];
};

export const taskText = (task: TaskView): readonly string[] => [
  ...columns([
    ['task', task.id],
    ['workflow', task.workflow],
    ['phase', `${task.phase} (version ${String(task.version)})`],
    ...rowsOf('goal', task.goal),
    ...evidenceRows(task),
    ...[['spent', spentText(task.spent, task.budget)]].filter(([, text]) => text !== ''),
    ...(task.circuit === undefined ? [] : [['circuit', task.circuit]]),
    ...(task.error === undefined ? [] : [['error', `${task.error.code}: ${task.error.message}`]]),
  ]),
  'nodes',
  ...columns(
    task.nodes.map((node) => nodeRow(task, node)),
    '  ',
  ),
  ...stuckLines(task),
  ...(task.checkpoints === undefined ? [] : ['checkpoints']),
  ...columns(
    (task.checkpoints ?? []).map(({ kind, node, attempt, reason }) => [
      kind,
      node,
      `attempt ${String(attempt)}`,
      shorten(reason, REASON_SHOWN),
    ]),
    '  ',
  ),
];

export const taskListText = (
  { items, next }: ApiResponse<'orchestrator', 'list'>,
  terminal: Terminal | undefined,
): readonly Line[] => [
  ...(items.length === 0 ? [next === undefined ? 'no tasks' : 'no matching tasks on this page'] : []),
  ...fitLines(
    listing(
      ['Task', 'Phase', 'Workflow', 'Created', 'Goal'],
      items.map(({ id, phase, workflow, createdAt, goal }) => [
        id,
        phase,
        workflow,
        instant(createdAt),
        shorten(goal, GOAL_SHOWN),
      ]),
    ),
    terminal,
  ),
  ...(next === undefined ? [] : [`more: --after ${next}`]),
];

const detailOf = (data: HistoryEntry['data']): string => {
  const event = TaskEvent.safeParse(data).data;
  if (event !== undefined) return eventText(event);
  const ofProgram = ProgramEvent.safeParse(data).data;
  return ofProgram === undefined ? '' : programText(ofProgram);
};

/** One event per line. Unknown events of newer releases show only their name. */
export const entryText = ({ version, at, type, data }: HistoryEntry): string => {
  const phase = typeof data['phase'] === 'string' ? data['phase'] : '';
  const detail = detailOf(data);
  return `${String(version).padStart(4)}  ${clock(at)}  ${phase.padEnd(17)}  ${type.padEnd(18)}  ${detail}`.trimEnd();
};

/** Exit code for a watched task. */
export const exitCodeFor = (phase: TaskPhase): number => {
  switch (phase) {
    case 'completed':
      return EXIT.ok;
    case 'failed':
    case 'cancelled':
      return EXIT.failed;
    case 'queued':
    case 'execution_ready':
    case 'executing':
    case 'awaiting_approval':
    case 'recovering':
    case 'paused':
    case 'circuit_open':
      return EXIT.waiting;
  }
};
