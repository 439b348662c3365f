import { type ApprovalView, riskOf } from '@holdpoint/contracts/approval/views';
import type { StuckAnswer } from '@holdpoint/contracts/approval/commands';
import { choicesOf, type Question, questionOf, reportCommand } from '@holdpoint/contracts/approval/question';
import type { ApiResponse } from '@holdpoint/contracts/catalog/api';
import type { ApprovalDetail } from '@holdpoint/contracts/approval/queries';
import type { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import { jobOf } from '@holdpoint/contracts/values/ids';
import { changesText } from './changes.ts';
import { inputText, inputWants, responseLine, responseText } from './input.ts';
import { ASKED } from '../output/requester.ts';
import { policyText, votesShort, voteTexts } from './votes.ts';
import { columns, instant, shorten, span } from '../output/columns.ts';
import type { Line } from '../output/painted.ts';
import { printableLines } from '../output/printable.ts';
import { effectLine } from '../output/event-text.ts';
import { previewText } from './preview-text.ts';

const TITLE_SHOWN = 60;

/** What it is about, in a line: the effect, what a job that is stuck has failed with, or what a program asks for. */
export const subjectLine = ({ effect, stuck, input }: ApprovalView): string => {
  if (input !== undefined) return `asks for ${inputWants(input)}`;
  return stuck === undefined ? effectLine(effect) : `stuck with ${stuck.class}`;
};

/** `answered with skip`, or with what a program was told. */
const outcomeText = ({ status, answer, response }: ApprovalView): string => {
  const said = response === undefined ? answer : responseLine(response);
  return said === undefined ? status.replace('_', ' ') : `answered with ${said}`;
};

/** `approved by operator on 2026-01-15 09:31:00Z: fine` */
export const decisionText = (approval: ApprovalView): string => {
  const { decidedBy, decidedAt, comment } = approval;
  return [
    outcomeText(approval),
    decidedBy === undefined ? '' : ` by ${decidedBy}`,
    decidedAt === undefined ? '' : ` on ${instant(decidedAt)}`,
    comment === undefined ? '' : `: ${comment}`,
  ].join('');
};

const stateText = (approval: ApprovalView, now: number): string =>
  approval.status === 'pending'
    ? `pending, expires ${instant(approval.expiresAt)} (in ${span(approval.expiresAt - now)})`
    : decisionText(approval);

/** What each answer to a doubt leads to. */
const DOUBT: Readonly<Record<InDoubtAnswer, string>> = {
  applied: 'it did happen: it is recorded as applied, and the task goes on',
  not_applied: 'it did not happen: the node has failed, and its routes for that follow',
  retry: 'whether it happened or not, it is done once more',
};
/** And to a job that is stuck. */
const STUCK: Readonly<Record<StuckAnswer, string>> = {
  retry: 'it is tried once more',
  skip: 'it is left out, and what follows it goes on',
  done: 'somebody has done it by hand: it counts as done',
  cancel: 'it is given up, and ends as cancelled',
};

const answersText = (
  approval: ApprovalView,
  leadsTo: Readonly<Record<string, string>>,
): readonly string[] => [
  ...columns(Object.entries(leadsTo), '    '),
  ...(approval.status === 'pending'
    ? [`  holdpoint approval answer ${approval.id} ${choicesOf(approval).join('|')}`]
    : []),
];

/** For who has to find out: what was to be done, why nobody knows, and what follows from each answer. */
const doubtText = (
  approval: ApprovalView,
  reason: string,
  begunAt: number | undefined,
): readonly string[] => [
  ASKED.doubt,
  ...columns(
    [
      ['to be done', approval.effect.uses],
      ['on', approval.effect.target],
      ...(begunAt === undefined ? [] : [['ordered', instant(begunAt)]]),
      ...printableLines(reason).map((line, i) => [i === 0 ? 'nobody knows' : '', line]),
    ],
    '  ',
  ),
  '  look at the target, then answer',
  ...answersText(approval, DOUBT),
];

type Stuck = NonNullable<ApprovalView['stuck']>;

/** What has failed, and what follows from each answer. */
const stuckText = (approval: ApprovalView, { class: failed, reason }: Stuck): readonly string[] => [
  ASKED.stuck,
  ...columns(
    [
      ['failed with', failed],
      ...printableLines(reason).map((line, i) => [i === 0 ? 'it is stuck' : '', line]),
      ['its report', reportCommand(jobOf(approval.task, approval.node))],
    ],
    '  ',
  ),
  ...answersText(approval, STUCK),
];

/** The question itself, where it is not whether the effect may run. */
const questionText = (approval: ApprovalView, begunAt: number | undefined): readonly string[] => {
  const { doubt, stuck, input } = approval;
  if (doubt !== undefined) return doubtText(approval, doubt.reason, begunAt);
  if (input !== undefined) return inputText(approval, input);
  return stuck === undefined ? [] : stuckText(approval, stuck);
};

/** Marked as somebody's words: nothing in it is to look like a line of ours. */
const saidText = (head: string, text: string): readonly string[] => [
  head,
  ...printableLines(text).map((line) => `  | ${line}`.trimEnd()),
];

const BODIES: Readonly<Record<Question, string>> = {
  effect: 'the gate says',
  doubt: 'the gate says',
  stuck: 'the report',
  input: 'the program says',
};

/** What the gate or the program says, or the report. */
const bodyText = (approval: ApprovalView): readonly string[] => {
  const { body = '' } = approval;
  return body === '' ? [] : saidText(BODIES[questionOf(approval)], body);
};

/** All that was said to a program. */
const respondedText = ({ response = null }: ApprovalView): readonly string[] => {
  const text = responseText(response);
  return text === '' ? [] : saidText('the response', text);
};

/** Where an effect is decided on. What stands in its place otherwise is no more than a name. */
const hasEffect = (approval: ApprovalView): boolean => ['effect', 'doubt'].includes(questionOf(approval));

const effectRows = (approval: ApprovalView): readonly (readonly string[])[] => {
  const { effect, digest } = approval;
  if (!hasEffect(approval)) return [];
  return [
    ['effect', `${effectLine(effect)}, ${effect.effectClass}`],
    ['key', effect.idempotencyKey],
    ['digest', digest],
  ];
};

const detailText = (approval: ApprovalDetail): readonly Line[] =>
  !hasEffect(approval)
    ? []
    : [
        ...changesText(approval),
        ...previewText(approval.effect),
        'arguments',
        ...printableLines(JSON.stringify(approval.effect.args, undefined, 2)).map((line) => `  ${line}`),
      ];

const riskText = ({ risk, effect }: ApprovalView): string => risk ?? riskOf(effect);

/** The exact effect, with nothing left out: this is what a person decides on. */
export const approvalText = (approval: ApprovalDetail, now: number, begunAt?: number): readonly Line[] => [
  ...columns([
    ['approval', approval.id],
    ['title', approval.title],
    ['status', stateText(approval, now)],
    ['risk', riskText(approval)],
    ['asked by', approval.requestedBy],
    ['decided by', `members of ${approval.audience.join(', ')}`],
    ...policyText(approval).map((text, i) => [i === 0 ? 'needs' : '', text]),
    ...voteTexts(approval).map((text, i) => [i === 0 ? 'said' : '', text]),
    ...(approval.rule === undefined ? [] : [['by rule', approval.rule]]),
    ...(approval.remembered === undefined ? [] : [['remembered', `as rule ${approval.remembered}`]]),
    ...(approval.outcome === undefined ? [] : [['outcome', approval.outcome.replaceAll('_', ' ')]]),
    ['task', `${approval.task}/${approval.node}, revision ${String(approval.revision)}`],
    ...(approval.gate === undefined ? [] : [['gate', approval.gate]]),
    ...effectRows(approval),
  ]),
  ...questionText(approval, begunAt),
  ...bodyText(approval),
  ...respondedText(approval),
  ...detailText(approval),
];

/** How it stands, as one cell of a list. */
const stateCell = (approval: ApprovalView, now: number): string => {
  if (approval.status !== 'pending') return decisionText({ ...approval, comment: undefined });
  const votes = votesShort(approval);
  return `expires in ${span(approval.expiresAt - now)}${votes === '' ? '' : `, ${votes}`}`;
};

export const approvalListText = (
  { items, next }: ApiResponse<'approvals', 'list'>,
  now: number,
): readonly string[] => [
  ...(items.length === 0 ? ['no approvals'] : []),
  ...columns(
    items.map((approval) => [
      approval.id,
      `${approval.task}/${approval.node}`,
      ASKED[questionOf(approval)],
      `${riskText(approval)} risk`,
      stateCell(approval, now),
      subjectLine(approval),
      shorten(approval.title, TITLE_SHOWN),
    ]),
  ),
  ...(next === undefined ? [] : [`more: --after ${next}`]),
];
