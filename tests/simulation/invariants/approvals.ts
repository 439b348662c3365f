import type { ApprovalEvent } from '@holdpoint/contracts/approval';
import type { ApprovalState } from '@holdpoint/approvals/domain/approval';
import type { Change } from '../books.ts';
import { verifyGrant } from '../grants.ts';
import type { World } from '../world.ts';

/** An approval ends once, in time, and its grant is for exactly what was asked. */
export const checkApproval = (
  { judge }: World,
  { aggregate, before, event, at }: Change<ApprovalState, ApprovalEvent>,
): void => {
  if (event.type !== 'resolved') {
    judge.expect(
      'an approval is asked for once',
      before.status === 'absent',
      aggregate,
      () => `asked again while ${before.status}`,
    );
    return;
  }
  judge.expect(
    'an approval ends once',
    before.status !== 'closed',
    aggregate,
    () => `${event.outcome} after ${JSON.stringify(before)}`,
  );
  if (event.outcome !== 'approved' || before.status !== 'pending') return;
  const { expiresAt, request } = before;
  // The store's clock, read behind the lock, and not only what the decision says of itself.
  judge.expect(
    'nothing is approved after its expiry',
    event.at < expiresAt && at < expiresAt,
    aggregate,
    () => `approved at ${String(at)}, expired at ${String(expiresAt)}`,
  );
  const claims = event.grant === undefined ? undefined : verifyGrant(event.grant);
  const exact =
    claims?.digest === request.digest && claims.sub === request.effectId && claims.jti === event.id;
  judge.expect('a grant is for exactly what was approved', exact, aggregate, () =>
    JSON.stringify({ claims, request }),
  );
};
