import type { ApprovalView } from '@holdpoint/contracts/approval/views';

export type InboxOrder = 'risk' | 'oldest' | 'expiring';

const RISKS = ['high', 'medium', 'low'] as const;
export const riskShown = ({ risk }: Pick<ApprovalView, 'risk'>) => risk ?? 'medium';

/** Sorts by risk, then age; or by one of the two times. */
export const inOrder = (items: readonly ApprovalView[], order: InboxOrder): readonly ApprovalView[] => {
  const age = (a: ApprovalView, b: ApprovalView): number => a.requestedAt - b.requestedAt;
  const by: Readonly<Record<InboxOrder, typeof age>> = {
    risk: (a, b) => RISKS.indexOf(riskShown(a)) - RISKS.indexOf(riskShown(b)) || age(a, b),
    oldest: age,
    expiring: (a, b) => a.expiresAt - b.expiresAt || age(a, b),
  };
  return [...items].sort((a, b) => by[order](a, b) || (a.id < b.id ? -1 : 1));
};

/** The pending requests after an update. */
export const withUpdate = (
  items: readonly ApprovalView[],
  updated: ApprovalView,
): readonly ApprovalView[] => {
  const others = items.filter(({ id }) => id !== updated.id);
  return updated.status === 'pending' ? [...others, updated] : others;
};
