import type { ApprovalOutcome, Vote } from '@holdpoint/contracts/approval/status';
import { isSamePerson } from '@holdpoint/contracts/values/person';
import type { Policy } from '@holdpoint/contracts/workflow/approval-policy';

/** Adds a vote. Each person has one vote, which they may change until the request is decided. */
export const withVote = (votes: readonly Vote[], vote: Vote): readonly Vote[] => [
  ...votes.filter(({ by }) => !isSamePerson(by, vote.by)),
  vote,
];

const count = (votes: readonly Vote[], wanted: Vote['decision']): number =>
  votes.filter(({ decision }) => decision === wanted).length;

/** Approvals that are still missing. */
export const missingOf = (votes: readonly Vote[], { quorum }: Policy): number =>
  Math.max(quorum - count(votes, 'approve'), 0);

/** Result of the votes; undefined while votes are missing. A single `request_changes` decides at once. */
export const outcomeOf = (
  votes: readonly Vote[],
  policy: Policy,
): Extract<ApprovalOutcome, 'approved' | 'rejected' | 'changes_requested'> | undefined => {
  if (count(votes, 'request_changes') > 0) return 'changes_requested';
  const rejections = count(votes, 'reject');
  if (rejections >= (policy.veto ? 1 : policy.quorum)) return 'rejected';
  return missingOf(votes, policy) === 0 ? 'approved' : undefined;
};
