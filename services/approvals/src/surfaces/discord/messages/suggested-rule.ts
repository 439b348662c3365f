import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { matches, RuleSpec } from '@holdpoint/contracts/approval/standing-rule';

const HOLDS_MS = 30 * 86_400_000;
const NAME_MAX = 200;

/** The rule that approves the like of this request for thirty days; undefined where no rule may, or none can be so narrow. */
export const suggestedRule = (request: RequestApproval): RuleSpec | undefined => {
  const { effect, workflow } = request;
  const exact = [effect.uses, effect.target, workflow ?? ''];
  // In a rule it would stand for anything: broader than what was shown.
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
