import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { Choice, DecideApproval } from '@holdpoint/contracts/approval/commands';
import { questionOf } from '@holdpoint/contracts/approval/question';
import type { ApiResponse } from '@holdpoint/contracts/catalog/api';
import { digestShown, type Shown } from '@holdpoint/contracts/approval/shown-effect';
import { hasCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import type { EffectId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import type { RuleSpec } from '@holdpoint/contracts/approval/standing-rule';
import { responseLine } from './input.ts';
import { STATUS_TEXTS } from './status-texts.ts';
import { decisionText, subjectLine } from './text.ts';
import type { Client } from '../bus/client.ts';
import { Refusal } from '../kit/refusal.ts';

const PAGE = 500;

/** For a late decision, reports the decision that stands. */
const explainLateDecision = async (
  client: Client,
  id: ApprovalView['id'],
  error: unknown,
): Promise<never> => {
  if (!hasCode(error, 'APPROVALS_ALREADY_DECIDED')) throw error;
  const settled = await client.call('approvals', 'get', { id });
  throw new HoldpointError(error.code, `${id} is already ${decisionText(settled)}`, { cause: error });
};

export type DecisionOptions = {
  readonly comment?: string | undefined;
  readonly digest?: string | undefined;
  readonly remember?: RuleSpec | undefined;
  readonly response?: Json | undefined;
};

/** Sends a decision on the effect with this digest. */
export const sendDecision = (
  client: Client,
  { id, digest }: Pick<ApprovalView, 'id' | 'digest'>,
  decision: Choice,
  options: Omit<DecisionOptions, 'digest'> = {},
) => {
  const request: DecideApproval = {
    id,
    decision,
    digest,
    ...(options.comment !== undefined && { comment: options.comment }),
    ...(options.remember !== undefined && { remember: options.remember }),
    ...(options.response !== undefined && { response: options.response }),
  };
  return client
    .call('approvals', 'decide', request)
    .catch((error: unknown) => explainLateDecision(client, id, error));
};

/**
 * Decides on the effect that is shown, bound to its digest, which is computed here. `options.digest` is the digest that
 * the user saw earlier.
 */
export const decideOn = async (
  client: Client,
  approval: Pick<ApprovalView, 'id'> & Shown,
  decision: Choice,
  { digest, ...options }: DecisionOptions = {},
) => {
  const shown = digestShown(approval);
  return sendDecision(client, { id: approval.id, digest: digest ?? shown }, decision, options);
};

const aboutLine = (approval: ApprovalView): string =>
  `  ${approval.task}/${approval.node}: ${subjectLine(approval)}`;

export const decidedText = (
  approval: ApprovalView,
  { id, by }: { readonly id: string; readonly by: string },
  what: string,
): readonly string[] => [`${id} is ${what} by ${by}`, aboutLine(approval)];

type Answer = ApiResponse<'approvals', 'decide'>;

/** `a-1 is approved by ada`, or the number of missing approvals. */
export const answerLine = (
  { id, status, by, approvalsMissing: missing, remembered }: Answer,
  choice: Choice,
): string => {
  if (status === 'pending') {
    const more =
      missing === undefined
        ? ''
        : `: ${String(missing)} more ${missing === 1 ? 'approval' : 'approvals'} needed`;
    return `${id}: ${by} voted ${choice.replace('_', ' ')}; still pending${more}`;
  }
  const what = status === 'answered' ? `answered with ${choice}` : STATUS_TEXTS[status];
  return `${id} is ${what} by ${by}${remembered === undefined ? '' : `, rule ${remembered} created`}`;
};

/** The outcome of a decision and the effect that it decides. */
export const answerText = (approval: ApprovalView, answer: Answer, choice: Choice): readonly string[] => [
  answerLine(answer, choice),
  aboutLine(approval),
];

/** Answers a question of a workflow. The service checks whether the response fits. */
export const respondTo = async (
  client: Client,
  approval: ApprovalView,
  response: Json,
  options: Pick<DecisionOptions, 'comment' | 'digest'> = {},
): Promise<{ readonly answer: Answer; readonly lines: readonly string[] }> => {
  const answer = await decideOn(client, approval, 'respond', { ...options, response });
  return { answer, lines: decidedText(approval, answer, `answered with ${responseLine(response)}`) };
};

/** The in-doubt question about an effect. */
export const findInDoubtQuestion = async (client: Client, effect: EffectId): Promise<ApprovalView> => {
  let after: string | undefined;
  do {
    const page = await client.call('approvals', 'list', {
      limit: PAGE,
      ...(after !== undefined && { after }),
    });
    const found = page.items.find((item) => item.effectId === effect && questionOf(item) === 'in_doubt');
    if (found !== undefined) return found;
    after = page.next;
  } while (after !== undefined);
  throw new Refusal('CLI_NOTHING_TO_DECIDE', `${effect} has no open question: nothing to answer`);
};
