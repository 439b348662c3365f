import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { matches, RuleSpec } from '@holdpoint/contracts/approval/standing-rule';

const HOLDS_MS = 30 * 86_400_000;
const NAME_MAX = 200;

/**
 * A rule that approves similar requests for thirty days; undefined when no rule may, or none can be narrow
 * enough.
 */
export const suggestedRule = (request: RequestApproval): RuleSpec | undefined => {
  const { effect, workflow } = request;
  const exact = [effect.uses, effect.target, workflow ?? ''];
  // `*` is a wildcard in a rule, so the rule would be broader than the request.
  if (exact.some((text) => text.includes('*'))) return undefined;
  const spec = RuleSpec.safeParse({
    name: Array.from(`as ${request.id}: ${effect.uses}`).slice(0, NAME_MAX).join(''),
    match: {
      kinds: [effect.kind],
      capability: effect.uses,
      target: effect.target,
      ...(workflow !== undefined && { workflow }),
    },
    expiresInMs: HOLDS_MS,
  });
  return spec.success && matches(spec.data.match, request) ? spec.data : undefined;
};
