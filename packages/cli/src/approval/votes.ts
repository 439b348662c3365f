import { raisedTexts } from '@holdpoint/contracts/approval/floor-text';
import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { policyOf, questionOf } from '@holdpoint/contracts/approval/question';
import { instant } from '../output/columns.ts';

const VERBS = { approve: 'approve', reject: 'reject', request_changes: 'request changes' } as const;

/** Differences between the policy and the default policy. */
export const policyText = (approval: ApprovalView): readonly string[] => {
  const { quorum, fourEyes, veto, decisions, onExpiry, rules } = policyOf(approval);
  const isEffect = questionOf(approval) === 'effect';
  return [
    ...(quorum > 1 ? [`${String(quorum)} different approvers`] : []),
    ...(quorum > 1 && !veto ? [`${String(quorum)} rejections to reject`] : []),
    ...(quorum > 1 && veto ? ['one rejection to reject'] : []),
    ...(fourEyes ? ['approver is not the requester (four eyes)'] : []),
    ...(!isEffect || approval.policy?.decisions === undefined
      ? []
      : [`one of ${decisions.map((each) => VERBS[each]).join(', ')}`]),
    ...(onExpiry === 'request_changes' ? ['no decision in time requests changes'] : []),
    ...(rules || !isEffect ? [] : ['a person decides: standing rules do not apply']),
  ];
};

/** The demands of the organisation's floor, apart from those of the requester. */
export const floorText = (approval: ApprovalView): readonly string[] => {
  const { floor } = approval;
  if (floor?.entries === undefined) return [];
  const { digest, entries, within = [] } = floor;
  const raised = raisedTexts(approval);
  return [
    `${entries.join(', ')} (floor ${digest.slice(0, 12)})`,
    ...within.map((names) => `decided by members of ${names.join(', ')}`),
    ...(raised.length === 0
      ? ['raised nothing: the request demands as much']
      : [`raised ${raised.join(', ')}`]),
  ];
};

/** Votes with voter and reason. */
export const voteTexts = ({ votes = [] }: ApprovalView): readonly string[] =>
  votes.map(
    ({ by, decision, comment, at }) =>
      `${VERBS[decision]} by ${by} on ${instant(at)}${comment === undefined ? '' : `: ${comment}`}`,
  );

/** `1 of 2 approved`; empty if one approval is enough. */
export const votesShort = (approval: ApprovalView): string => {
  const { quorum } = policyOf(approval);
  const { votes = [] } = approval;
  const approved = votes.filter(({ decision }) => decision === 'approve').length;
  return quorum === 1 ? '' : `${String(approved)} of ${String(quorum)} approved`;
};
