import type { ApprovalView } from '@holdpoint/contracts/approval';
import type { ApiResponse } from '@holdpoint/contracts/catalog';
import type { DoubtAnswer } from '@holdpoint/contracts/effect';
import { columns, instant, shorten, span } from './columns.ts';
import { printableLines } from './printable.ts';
import { effectLine } from './event-text.ts';
import { previewText } from './preview-text.ts';

const TITLE_SHOWN = 60;

/** `approved by operator on 2026-01-15 09:31:00Z: fine` */
export const decisionText = ({ status, answer, decidedBy, decidedAt, comment }: ApprovalView): string =>
  [
    answer === undefined ? status.replace('_', ' ') : `answered with ${answer}`,
    decidedBy === undefined ? '' : ` by ${decidedBy}`,
    decidedAt === undefined ? '' : ` on ${instant(decidedAt)}`,
    comment === undefined ? '' : `: ${comment}`,
  ].join('');

const stateText = (approval: ApprovalView, now: number): string =>
  approval.status === 'pending'
    ? `pending, expires ${instant(approval.expiresAt)} (in ${span(approval.expiresAt - now)})`
    : decisionText(approval);

/** What each answer to a doubt leads to. */
const ANSWERS: readonly (readonly [answer: DoubtAnswer, leadsTo: string])[] = [
  ['applied', 'it did happen: it is recorded as applied, and the task goes on'],
  ['not_applied', 'it did not happen: the node has failed, and its routes for that follow'],
  ['retry', 'whether it happened or not, it is done once more'],
];

/** The question itself, for who has to find out: what was to be done, why nobody knows, and what follows from each answer. */
const questionText = (
  { id, doubt, effect, status }: ApprovalView,
  begunAt: number | undefined,
): readonly string[] =>
  doubt === undefined
    ? []
    : [
        'did it happen?',
        ...columns(
          [
            ['to be done', effect.uses],
            ['on', effect.target],
            ...(begunAt === undefined ? [] : [['ordered', instant(begunAt)]]),
            ...printableLines(doubt.reason).map((line, i) => [i === 0 ? 'nobody knows' : '', line]),
          ],
          '  ',
        ),
        '  look at the target, then answer',
        ...columns(
          ANSWERS.map(([answer, leadsTo]) => [answer, leadsTo]),
          '    ',
        ),
        ...(status === 'pending' ? [`  holdpoint approvals answer ${id} applied|not_applied|retry`] : []),
      ];

/** The exact effect, with nothing left out: this is what a person decides on. */
export const approvalText = (approval: ApprovalView, now: number, begunAt?: number): readonly string[] => [
  ...columns([
    ['approval', approval.id],
    ['title', approval.title],
    ['status', stateText(approval, now)],
    ['asked by', approval.requestedBy],
    ['decided by', `members of ${approval.audience.join(', ')}`],
    ['task', `${approval.task}/${approval.node}, revision ${String(approval.revision)}`],
    ['effect', `${effectLine(approval.effect)}, ${approval.effect.effectClass}`],
    ['key', approval.effect.idempotencyKey],
    ['digest', approval.digest],
  ]),
  ...questionText(approval, begunAt),
  ...previewText(approval.effect),
  'arguments',
  ...printableLines(JSON.stringify(approval.effect.args, undefined, 2)).map((line) => `  ${line}`),
];

export const approvalListText = (
  { items, next }: ApiResponse<'approvals', 'list'>,
  now: number,
): readonly string[] => [
  ...(items.length === 0 ? ['no approvals'] : []),
  ...columns(
    items.map((approval) => [
      approval.id,
      `${approval.task}/${approval.node}`,
      approval.doubt === undefined ? 'may it run?' : 'did it happen?',
      approval.status === 'pending'
        ? `expires in ${span(approval.expiresAt - now)}`
        : decisionText({ ...approval, comment: undefined }),
      effectLine(approval.effect),
      shorten(approval.title, TITLE_SHOWN),
    ]),
  ),
  ...(next === undefined ? [] : [`more: --after ${next}`]),
];
