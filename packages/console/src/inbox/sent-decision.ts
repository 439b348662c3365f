import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { Choice } from '@holdpoint/contracts/approval/commands';

/** The fate of a decision whose answer was lost. */
export type DecisionFate =
  /** It decided the request, or counted as a vote. */
  | { readonly kind: 'counted' }
  /** Another decision closed it, or it expired. */
  | { readonly kind: 'settled' }
  /** It has not arrived: it may be sent again. */
  | { readonly kind: 'not-arrived' };

const OUTCOME: Readonly<Record<string, ApprovalView['status']>> = {
  approve: 'approved',
  reject: 'rejected',
  request_changes: 'changes_requested',
};

/** Whether a decision of this user has arrived, by the current state of the request. */
export const fateOf = (
  view: Pick<ApprovalView, 'status' | 'decidedBy' | 'votes' | 'answer'>,
  sent: { readonly by: string; readonly decision: Choice | 'respond' },
): DecisionFate => {
  const voted = view.votes?.some(({ by, decision }) => by === sent.by && decision === sent.decision) === true;
  if (view.status === 'pending') return { kind: voted ? 'counted' : 'not-arrived' };
  const own = view.decidedBy === sent.by;
  const same =
    view.status === 'answered'
      ? sent.decision === 'respond' || view.answer === sent.decision
      : view.status === OUTCOME[sent.decision];
  return { kind: voted || (own && same) ? 'counted' : 'settled' };
};
