import { policyOf } from '@holdpoint/contracts/approval/question';
import type { ApprovalEvent, ApprovalResolved } from '@holdpoint/contracts/approval/events';
import { ROLLBACK_RULE } from '@holdpoint/approvals/rule/rollback-rule';
import { type Committed, type Expect, memoryOf } from './invariant.ts';

type Memory = {
  request?: { readonly expiresAt: number; readonly quorum: number };
  hasEnded: boolean;
};

/** How many principals stand behind an approval. A standing rule stands for its author. */
const approversOf = ({ rule, votes = [] }: ApprovalResolved): number =>
  rule !== undefined || votes.length === 0
    ? 1
    : new Set(votes.flatMap(({ by, decision }) => (decision === 'approve' ? [by] : []))).size;

/** An approval is requested once and resolved once, in time and by its quorum. */
export const watchApprovals = (expect: Expect) => {
  const memory = memoryOf((): Memory => ({ hasEnded: false }));

  const checkDeadline = (resolved: ApprovalResolved, at: number, expiresAt: number): void => {
    const { id, outcome } = resolved;
    const times = (): string =>
      `${outcome} at ${String(resolved.at)}, committed at ${String(at)}, deadline ${String(expiresAt)}`;
    // The policy of a request chooses the outcome of its expiry.
    const isExpiry = outcome === 'expired' || resolved.surface === 'clock';
    if (isExpiry)
      expect(
        'an approval expires only after its deadline',
        resolved.at >= expiresAt && at >= expiresAt,
        id,
        times,
      );
    // The decision states its own time; the store's clock is read behind the lock.
    else if (outcome !== 'cancelled')
      expect(
        'an approval is decided only before its deadline',
        resolved.at < expiresAt && at < expiresAt,
        id,
        times,
      );
  };

  return ({ aggregate, version, at, event }: Committed<ApprovalEvent>): void => {
    const known = memory(aggregate);
    if (event.type === 'requested') {
      expect(
        'an approval is requested once, as its first event',
        known.request === undefined && version === 1,
        aggregate,
        () => `requested at version ${String(version)}`,
      );
      known.request = { expiresAt: event.expiresAt, quorum: policyOf(event).quorum };
      return;
    }
    // A cancellation that overtakes its request is all that ever happens to the approval.
    const isWithdrawn = version === 1 && event.type === 'resolved' && event.outcome === 'cancelled';
    expect(
      'an approval is requested once, as its first event',
      known.request !== undefined || isWithdrawn,
      aggregate,
      () => `begins with ${event.type}`,
    );
    if (event.type !== 'resolved') return;
    expect(
      'an approval is resolved once',
      !known.hasEnded,
      aggregate,
      () => `resolved again as ${event.outcome}`,
    );
    known.hasEnded = true;
    if (known.request === undefined) return;
    checkDeadline(event, at, known.request.expiresAt);
    if (event.outcome !== 'approved' || event.rule === ROLLBACK_RULE) return;
    const { quorum } = known.request;
    expect(
      'an approval has as many approvers as its quorum',
      approversOf(event) >= quorum,
      aggregate,
      () => `${String(approversOf(event))} approvers for a quorum of ${String(quorum)}`,
    );
  };
};
