import type { ApprovalOutcome, Vote } from '@holdpoint/contracts/approval/status';
import type { Policy } from '@holdpoint/contracts/workflow/approval-policy';

/** The votes with one more: one person has one vote, and may change it as long as nothing is decided. */
export const withVote = (votes: readonly Vote[], vote: Vote): readonly Vote[] => [
  ...votes.filter(({ by }) => by !== vote.by),
  vote,
];

const count = (votes: readonly Vote[], wanted: Vote['decision']): number =>
  votes.filter(({ decision }) => decision === wanted).length;

/** How many approvals it still takes. */
export const missingOf = (votes: readonly Vote[], { quorum }: Policy): number =>
  Math.max(quorum - count(votes, 'approve'), 0);

/** What the votes come to; undefined while it takes more. Whoever wants changes is heard at once. */
export const outcomeOf = (
  votes: readonly Vote[],
  policy: Policy,
): Extract<ApprovalOutcome, 'approved' | 'rejected' | 'changes_requested'> | undefined => {
  if (count(votes, 'request_changes') > 0) return 'changes_requested';
  const rejections = count(votes, 'reject');
  if (rejections >= (policy.veto ? 1 : policy.quorum)) return 'rejected';
  return missingOf(votes, policy) === 0 ? 'approved' : undefined;
};
