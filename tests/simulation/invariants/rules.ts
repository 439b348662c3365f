import type { RuleEvent } from '@holdpoint/contracts/approval/standing-rule';
import { ruleDecides, type Rule, statusOf } from '@holdpoint/approvals/rule/state';
import { decidesRollback, ROLLBACK_RULE } from '@holdpoint/approvals/rule/rollback-rule';
import type { World } from '../world.ts';

/** A standing rule decides only while it is valid, within its limit, and only what its author could decide. */
export const checkRule = (
  { checker, books, rollbackRule }: World,
  aggregate: string,
  before: Rule | undefined,
  event: RuleEvent,
): void => {
  if (event.type === 'rule_added') {
    checker.expect('a standing rule is added once', before === undefined, aggregate, () =>
      JSON.stringify(before),
    );
    return;
  }
  if (event.type !== 'rule_used') return;
  const approval = books.approvals.stateOf(event.approval);
  const request =
    approval.status === 'pending' || approval.status === 'closed' ? approval.request : undefined;
  const holds =
    before !== undefined &&
    request !== undefined &&
    (before.id === ROLLBACK_RULE
      ? rollbackRule && decidesRollback(request)
      : ruleDecides(before, request, event.at));
  checker.expect('a standing rule decides only requests that it matches', holds, aggregate, () =>
    JSON.stringify({ rule: before && statusOf(before, event.at), request }),
  );
  checker.expect(
    'a standing rule decides each approval once',
    before?.usedFor.includes(event.approval) === false,
    aggregate,
    () => `${event.approval} was decided on twice`,
  );
};
