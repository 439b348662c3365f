import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { isForRules, matches, type RuleSpec } from '@holdpoint/contracts/approval/standing-rule';

const DAY_MS = 86_400_000;
const NAME_MAX = 200;
export const DAYS = 30;

/** Whether a rule may approve similar requests. Some effects always need a person. */
export const canRemember = (approval: ApprovalView): boolean =>
  isForRules(approval) && ruleFrom(approval, approval.effect.target) !== undefined;

/** The rule that approves similar requests on this target; undefined if it would not match the request itself. */
export const ruleFrom = (approval: ApprovalView, target: string, days = DAYS): RuleSpec | undefined => {
  const { effect, workflow } = approval;
  if (effect.kind === 'work') return undefined;
  const spec: RuleSpec = {
    name: `${effect.uses} on ${target}`.slice(0, NAME_MAX),
    match: {
      kinds: [effect.kind],
      capability: effect.uses,
      target,
      ...(workflow !== undefined && { workflow }),
    },
    expiresInMs: days * DAY_MS,
  };
  return matches(spec.match, approval) ? spec : undefined;
};
