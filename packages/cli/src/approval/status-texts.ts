import type { ApprovalStatus } from '@holdpoint/contracts/approval/status';

/** The end of the sentence "a-1 is …". */
export const STATUS_TEXTS: Readonly<Record<ApprovalStatus, string>> = {
  pending: 'pending',
  approved: 'approved',
  rejected: 'rejected',
  changes_requested: 'sent back for changes',
  answered: 'answered',
  expired: 'expired',
  cancelled: 'cancelled',
};
