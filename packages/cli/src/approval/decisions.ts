import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { Choice, DecideApproval } from '@holdpoint/contracts/approval/commands';
import { questionOf } from '@holdpoint/contracts/approval/question';
import type { ApiResponse } from '@holdpoint/contracts/catalog/api';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { EffectId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import type { RuleSpec } from '@holdpoint/contracts/approval/standing-rule';
import { responseLine } from './input.ts';
import { decisionText, subjectLine } from './text.ts';
import type { Client } from '../bus/client.ts';
import { Refusal } from '../kit/refusal.ts';

const PAGE = 500;

/** A decision that came too late is answered with the one that stands. */
const withWhatStands = async (client: Client, id: ApprovalView['id'], error: unknown): Promise<never> => {
  if (!(error instanceof HoldpointError) || error.code !== 'APPROVALS_ALREADY_DECIDED') throw error;
  const settled = await client.call('approvals', 'get', { id });
  throw new HoldpointError(error.code, `${id} is already ${decisionText(settled)}`, { cause: error });
};

export type Said = {
  readonly comment?: string | undefined;
  readonly digest?: string | undefined;
  readonly remember?: RuleSpec | undefined;
  readonly response?: Json | undefined;
};

/** Bound to what was shown: an effect that is edited in between is not decided on by mistake. */
export const decideOn = (
  client: Client,
  { id, digest }: Pick<ApprovalView, 'id' | 'digest'>,
  decision: Choice,
  said: Said = {},
) => {
  const request: DecideApproval = {
    id,
    decision,
    digest: said.digest ?? digest,
    ...(said.comment !== undefined && { comment: said.comment }),
    ...(said.remember !== undefined && { remember: said.remember }),
    ...(said.response !== undefined && { response: said.response }),
  };
  return client
    .call('approvals', 'decide', request)
    .catch((error: unknown) => withWhatStands(client, id, error));
};

const aboutLine = (approval: ApprovalView): string =>
  `  ${approval.task}/${approval.node}: ${subjectLine(approval)}`;

/** What was decided, and about what. */
export const decidedText = (
  approval: ApprovalView,
  { id, by }: { readonly id: string; readonly by: string },
  what: string,
): readonly string[] => [`${id} is ${what} by ${by}`, aboutLine(approval)];

type Answer = ApiResponse<'approvals', 'decide'>;

/** `a-1 is approved by ada`, or what it still takes. */
export const answerLine = ({ id, status, by, missing, remembered }: Answer, choice: Choice): string => {
  if (status === 'pending') {
    const more =
      missing === undefined ? '' : `: ${String(missing)} more ${missing === 1 ? 'has' : 'have'} to approve`;
    return `${id} has ${by}'s ${choice.replace('_', ' ')}, and is still pending${more}`;
  }
  const what = status === 'answered' ? `answered with ${choice}` : status.replace('_', ' ');
  return `${id} is ${what} by ${by}${remembered === undefined ? '' : `, and remembered as rule ${remembered}`}`;
};

/** What came of a decision, and what it was about. */
export const answerText = (approval: ApprovalView, answer: Answer, choice: Choice): readonly string[] => [
  answerLine(answer, choice),
  aboutLine(approval),
];

/** Tells a program what it asks for. Whether it fits is for the service to say, which knows what was asked by then. */
export const respondTo = async (
  client: Client,
  approval: ApprovalView,
  response: Json,
  said: Pick<Said, 'comment' | 'digest'> = {},
): Promise<{ readonly answer: Answer; readonly lines: readonly string[] }> => {
  const answer = await decideOn(client, approval, 'respond', { ...said, response });
  return { answer, lines: decidedText(approval, answer, `answered with ${responseLine(response)}`) };
};

/** The question that people are asked about an effect. */
export const questionAbout = async (client: Client, effect: EffectId): Promise<ApprovalView> => {
  let after: string | undefined;
  do {
    const page = await client.call('approvals', 'list', {
      limit: PAGE,
      ...(after !== undefined && { after }),
    });
    const found = page.items.find((item) => item.effectId === effect && questionOf(item) === 'doubt');
    if (found !== undefined) return found;
    after = page.next;
  } while (after !== undefined);
  throw new Refusal(
    'CLI_NOTHING_TO_DECIDE',
    `nobody is asked what became of ${effect}: there is nothing to answer`,
  );
};
