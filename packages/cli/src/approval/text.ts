import { factRows } from '@holdpoint/contracts/approval/facts-text';
import { type ApprovalView, riskOf } from '@holdpoint/contracts/approval/views';
import type { StuckAnswer } from '@holdpoint/contracts/approval/commands';
import { choicesOf, type Question, questionOf, reportCommand } from '@holdpoint/contracts/approval/question';
import type { ApiResponse } from '@holdpoint/contracts/catalog/api';
import type { ApprovalDetail } from '@holdpoint/contracts/approval/queries';
import { isAsShown } from '@holdpoint/contracts/approval/shown-effect';
import type { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import { jobOf } from '@holdpoint/contracts/values/ids';
import { changesText } from './changes.ts';
import { STATUS_TEXTS } from './status-texts.ts';
import { inputText, inputWants, responseLine, responseText } from './input.ts';
import { QUESTION_LABELS } from '../output/question-labels.ts';
import { floorText, policyText, votesShort, voteTexts } from './votes.ts';
import { columns, instant, listing, shorten, span } from '../output/columns.ts';
import type { Terminal } from '../kit/environment.ts';
import { fitLines, type Line } from '../output/painted.ts';
import { printableLines } from '../output/printable.ts';
import { effectLine } from '../output/event-text.ts';
import { knownArgs } from '@holdpoint/contracts/effect/capabilities';
import { previewText } from './preview-text.ts';

const TITLE_SHOWN = 60;

/** The subject on one line: the effect, the failure of a stuck job, or the requested input. */
export const subjectLine = ({ effect, stuck, input }: ApprovalView): string => {
  if (input !== undefined) return `asks for ${inputWants(input)}`;
  return stuck === undefined ? effectLine(effect) : `stuck with ${stuck.class}`;
};

/** `answered with skip`, or with the response to a workflow. */
const outcomeText = ({ status, answer, response }: ApprovalView): string => {
  const result = response === undefined ? answer : responseLine(response);
  return result === undefined ? STATUS_TEXTS[status] : `answered with ${result}`;
};

export const decisionText = (approval: ApprovalView): string => {
  const { status, decidedBy, decidedAt, comment } = approval;
  const at = decidedAt === undefined ? '' : ` on ${instant(decidedAt)}`;
  if (status === 'expired') return `expired${at}: no decision in time`;
  return [
    outcomeText(approval),
    decidedBy === undefined ? '' : ` by ${decidedBy}`,
    at,
    comment === undefined ? '' : `: ${comment}`,
  ].join('');
};

const stateText = (approval: ApprovalView, now: number): string =>
  approval.status === 'pending'
    ? `pending, expires ${instant(approval.expiresAt)} (in ${span(approval.expiresAt - now)})`
    : decisionText(approval);

/** Consequence of each answer about an in-doubt effect. */
const DOUBT: Readonly<Record<InDoubtAnswer, string>> = {
  applied: 'it happened: record it as applied and continue the task',
  not_applied: 'it did not happen: the node fails, and its failure routes follow',
  retry: 'run it again, whether it happened or not',
};
/** Consequence of each answer about a stuck job. */
const STUCK: Readonly<Record<StuckAnswer, string>> = {
  retry: 'try again',
  skip: 'skip it and continue after it',
  done: 'done by hand: count it as done',
  cancel: 'end it as cancelled',
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

/** For the operator who investigates: the effect, why its outcome is unknown, and the consequence of each answer. */
const doubtText = (
  approval: ApprovalView,
  reason: string,
  begunAt: number | undefined,
): readonly string[] => [
  QUESTION_LABELS.in_doubt,
  ...columns(
    [
      ['effect', approval.effect.uses],
      ['on', approval.effect.target],
      ...(begunAt === undefined ? [] : [['ordered', instant(begunAt)]]),
      ...printableLines(reason).map((line, i) => [i === 0 ? 'unknown because' : '', line]),
    ],
    '  ',
  ),
  '  check the target, then answer',
  ...answersText(approval, DOUBT),
];

type Stuck = NonNullable<ApprovalView['stuck']>;

/** The failure, and the consequence of each answer. */
const stuckText = (approval: ApprovalView, { class: failed, reason }: Stuck): readonly string[] => [
  QUESTION_LABELS.stuck,
  ...columns(
    [
      ['failure', failed],
      ...printableLines(reason).map((line, i) => [i === 0 ? 'stuck because' : '', line]),
      ['report', reportCommand(jobOf(approval.task, approval.node))],
    ],
    '  ',
  ),
  ...answersText(approval, STUCK),
];

/** The question, unless it is whether the effect may run. */
const questionText = (approval: ApprovalView, begunAt: number | undefined): readonly string[] => {
  const { inDoubt, stuck, input } = approval;
  if (inDoubt !== undefined) return doubtText(approval, inDoubt.reason, begunAt);
  if (input !== undefined) return inputText(approval, input);
  return stuck === undefined ? [] : stuckText(approval, stuck);
};

/** Prefixed as a quotation: untrusted text must not look like our own output. */
const quotedText = (head: string, text: string): readonly string[] => [
  head,
  ...printableLines(text).map((line) => `  | ${line}`.trimEnd()),
];

const BODIES: Readonly<Record<Question, string>> = {
  effect: 'gate',
  in_doubt: 'gate',
  stuck: 'report',
  input: 'question',
};

/** The text of the gate, the workflow or the report. */
const bodyText = (approval: ApprovalView): readonly string[] => {
  const { body = '' } = approval;
  return body === '' ? [] : quotedText(BODIES[questionOf(approval)], body);
};

/** The full response to a workflow. */
const fullResponse = ({ response = null }: ApprovalView): readonly string[] => {
  const text = responseText(response);
  return text === '' ? [] : quotedText('response', text);
};

/** The effect, for requests that decide on one. Other requests carry only a name. */
const hasEffect = (approval: ApprovalView): boolean => ['effect', 'in_doubt'].includes(questionOf(approval));

/** Of a step in a repository, such as a merge: its target names the branch alone. */
const repositoryRows = ({ uses, args }: ApprovalView['effect']): readonly (readonly string[])[] => {
  const { repository } = knownArgs(uses, args);
  return typeof repository === 'string' ? [['repository', repository]] : [];
};

const effectRows = (approval: ApprovalView): readonly (readonly string[])[] => {
  const { effect, digest } = approval;
  if (!hasEffect(approval)) return [];
  return [
    ['effect', `${effectLine(effect)}, ${effect.effectClass}`],
    ...repositoryRows(effect),
    ['key', effect.idempotencyKey],
    ['digest', isAsShown(approval) ? digest : `${digest} does not belong to this effect: decide nothing`],
  ];
};

/** Facts of the task. The workflow and its agents wrote parts of them. */
const factTexts = ({ facts }: ApprovalView): readonly (readonly string[])[] =>
  facts === undefined
    ? []
    : factRows(facts).flatMap(([name, text]) =>
        printableLines(text).map((line, i) => [i === 0 ? name : '', line]),
      );

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

/** The complete effect: approvers decide on exactly this. */
export const approvalText = (approval: ApprovalDetail, now: number, begunAt?: number): readonly Line[] => [
  ...columns([
    ['approval', approval.id],
    ['title', approval.title],
    ...(approval.description === undefined ? [] : [['', approval.description]]),
    ['status', stateText(approval, now)],
    ['risk', riskText(approval)],
    ['requested by', approval.requestedBy],
    ['decided by', `members of ${approval.audience.join(', ')}`],
    ...policyText(approval).map((text, i) => [i === 0 ? 'needs' : '', text]),
    ...floorText(approval).map((text, i) => [i === 0 ? 'policy' : '', text]),
    ...voteTexts(approval).map((text, i) => [i === 0 ? 'votes' : '', text]),
    ...(approval.rule === undefined ? [] : [['by rule', approval.rule]]),
    ...(approval.remembered === undefined ? [] : [['remembered', `rule ${approval.remembered} created`]]),
    ...(approval.outcome === undefined ? [] : [['outcome', approval.outcome.replaceAll('_', ' ')]]),
    ['task', `${approval.task}/${approval.node}, revision ${String(approval.revision)}`],
    ...(approval.gate === undefined ? [] : [['gate', approval.gate]]),
    ...effectRows(approval),
    ...factTexts(approval),
  ]),
  ...questionText(approval, begunAt),
  ...bodyText(approval),
  ...fullResponse(approval),
  ...detailText(approval),
];

/** Status as a cell of a list. */
const stateCell = (approval: ApprovalView, now: number): string => {
  if (approval.status !== 'pending') return decisionText({ ...approval, comment: undefined });
  const votes = votesShort(approval);
  return `expires in ${span(approval.expiresAt - now)}${votes === '' ? '' : `, ${votes}`}`;
};

export const approvalListText = (
  { items, next }: ApiResponse<'approvals', 'list'>,
  now: number,
  terminal: Terminal | undefined,
): readonly Line[] => [
  ...(items.length === 0 ? ['no approvals'] : []),
  ...fitLines(
    listing(
      ['Approval', 'Job', 'Question', 'Risk', 'State', 'Subject', 'Title'],
      items.map((approval) => [
        approval.id,
        `${approval.task}/${approval.node}`,
        QUESTION_LABELS[questionOf(approval)],
        riskText(approval),
        stateCell(approval, now),
        subjectLine(approval),
        shorten(approval.title, TITLE_SHOWN),
      ]),
    ),
    terminal,
  ),
  ...(next === undefined ? [] : [`more: --after ${next}`]),
];
