import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { Choice } from '@holdpoint/contracts/approval/commands';

/** What a look at the request tells of a decision whose answer was lost. */
export type Found =
  /** It counts: it has decided, or it is one of several votes. */
  | { readonly kind: 'counted' }
  /** Somebody has decided otherwise, or it has ended. */
  | { readonly kind: 'settled' }
  /** It has not arrived: it may be sent again. */
  | { readonly kind: 'not-arrived' };

const OUTCOME: Readonly<Record<string, ApprovalView['status']>> = {
  approve: 'approved',
  reject: 'rejected',
  request_changes: 'changes_requested',
};

/** Whether a decision of this person has arrived, as the request stands now. */
export const lookFor = (
  view: Pick<ApprovalView, 'status' | 'decidedBy' | 'votes' | 'answer'>,
  sent: { readonly by: string; readonly decision: Choice | 'respond' },
): Found => {
  const voted = view.votes?.some(({ by, decision }) => by === sent.by && decision === sent.decision) === true;
  if (view.status === 'pending') return { kind: voted ? 'counted' : 'not-arrived' };
  const own = view.decidedBy === sent.by;
  const same =
    view.status === 'answered'
      ? sent.decision === 'respond' || view.answer === sent.decision
      : view.status === OUTCOME[sent.decision];
  return { kind: voted || (own && same) ? 'counted' : 'settled' };
};
