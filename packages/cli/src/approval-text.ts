import type { ApprovalView } from '@holdpoint/contracts/approval';
import type { ApiResponse } from '@holdpoint/contracts/catalog';
import { columns, instant, shorten, span } from './columns.ts';
import { printableLines } from './printable.ts';
import { effectLine } from './event-text.ts';
import { previewText } from './preview-text.ts';

const TITLE_SHOWN = 60;

/** `approved by operator on 2026-01-15 09:31:00Z: fine` */
export const decisionText = ({ status, decidedBy, decidedAt, comment }: ApprovalView): string =>
  [
    status.replace('_', ' '),
    decidedBy === undefined ? '' : ` by ${decidedBy}`,
    decidedAt === undefined ? '' : ` on ${instant(decidedAt)}`,
    comment === undefined ? '' : `: ${comment}`,
  ].join('');

const stateText = (approval: ApprovalView, now: number): string =>
  approval.status === 'pending'
    ? `pending, expires ${instant(approval.expiresAt)} (in ${span(approval.expiresAt - now)})`
    : decisionText(approval);

/** The exact effect, with nothing left out: this is what a person decides on. */
export const approvalText = (approval: ApprovalView, now: number): readonly string[] => [
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
      approval.status === 'pending'
        ? `expires in ${span(approval.expiresAt - now)}`
        : decisionText({ ...approval, comment: undefined }),
      effectLine(approval.effect),
      shorten(approval.title, TITLE_SHOWN),
    ]),
  ),
  ...(next === undefined ? [] : [`more: --after ${next}`]),
];
