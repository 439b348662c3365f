import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { ASKS, questionOf } from '@holdpoint/contracts/approval/question';
import { matches, RuleSpec } from '@holdpoint/contracts/approval/standing-rule';
import { Refusal } from '../kit/refusal.ts';

const DEFAULT_MS = 30 * 86_400_000;
const NAME_MAX = 200;

/** What of a rule is said by whoever approves. The target is the one of the approval, unless he says otherwise. */
export type Remember = {
  readonly name?: string | undefined;
  readonly expiresInMs?: number | undefined;
  readonly uses?: number | undefined;
  readonly target?: string | undefined;
  readonly anyTarget?: boolean | undefined;
};

const nothing = (why: string): Refusal => new Refusal('CLI_NOTHING_TO_REMEMBER', why);

/** The rule that would have approved this. Throws `CLI_NOTHING_TO_REMEMBER` when there is none. */
export const ruleFrom = (approval: ApprovalView, remember: Remember = {}): RuleSpec => {
  const { effect, id, workflow } = approval;
  const question = questionOf(approval);
  if (question !== 'effect') throw nothing(`${id} asks ${ASKS[question]}: no rule answers that`);
  const { uses, kind, target } = effect;
  const spec = RuleSpec.safeParse({
    name: (remember.name ?? `${uses} on ${remember.anyTarget === true ? 'anything' : target}`).slice(
      0,
      NAME_MAX,
    ),
    match: {
      kinds: [kind],
      capability: uses,
      ...(remember.anyTarget !== true && { target: remember.target ?? target }),
      ...(workflow !== undefined && { workflow }),
    },
    expiresInMs: remember.expiresInMs ?? DEFAULT_MS,
    ...(remember.uses !== undefined && { usesMax: remember.uses }),
  });
  if (!spec.success)
    throw nothing(
      `no rule can be made from ${id}: ${spec.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}`,
    );
  if (!matches(spec.data.match, approval))
    throw nothing(
      `the rule would not approve ${id} itself: its target does not fit, or its gate wants a person`,
    );
  return spec.data;
};

export const canRemember = (approval: ApprovalView): boolean => {
  try {
    ruleFrom(approval);
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
};
