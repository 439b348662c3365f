import type { ApprovalView, Choice, DecideApproval } from '@holdpoint/contracts/approval';
import { HoldpointError } from '@holdpoint/contracts/errors';
import type { EffectId } from '@holdpoint/contracts/ids';
import { decisionText } from './approval-text.ts';
import type { Client } from './client.ts';
import { effectLine } from './event-text.ts';
import { Refusal } from './refusal.ts';

const PAGE = 500;

/** A decision that came too late is answered with the one that stands. */
const withWhatStands = async (client: Client, id: ApprovalView['id'], error: unknown): Promise<never> => {
  if (!(error instanceof HoldpointError) || error.code !== 'APPROVALS_ALREADY_DECIDED') throw error;
  const settled = await client.call('approvals', 'get', { id });
  throw new HoldpointError(error.code, `${id} is already ${decisionText(settled)}`, { cause: error });
};

export type Said = { readonly comment?: string | undefined; readonly digest?: string | undefined };

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
  };
  return client
    .call('approvals', 'decide', request)
    .catch((error: unknown) => withWhatStands(client, id, error));
};

/** What was decided, and about what. */
export const decidedText = (
  { task, node, effect }: Pick<ApprovalView, 'task' | 'node' | 'effect'>,
  { id, by }: { readonly id: string; readonly by: string },
  what: string,
): readonly string[] => [`${id} is ${what} by ${by}`, `  ${task}/${node}: ${effectLine(effect)}`];

/** The question that people are asked about an effect. */
export const questionAbout = async (client: Client, effect: EffectId): Promise<ApprovalView> => {
  let after: string | undefined;
  do {
    const page = await client.call('approvals', 'list', {
      limit: PAGE,
      ...(after !== undefined && { after }),
    });
    const found = page.items.find(({ effectId, doubt }) => effectId === effect && doubt !== undefined);
    if (found !== undefined) return found;
    after = page.next;
  } while (after !== undefined);
  throw new Refusal(
    'CLI_NOTHING_TO_DECIDE',
    `nobody is asked what became of ${effect}: there is nothing to answer`,
  );
};
