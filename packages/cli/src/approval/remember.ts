import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { ASKS, questionOf } from '@holdpoint/contracts/approval/question';
import { matches, RuleSpec } from '@holdpoint/contracts/approval/standing-rule';
import { Refusal } from '../kit/refusal.ts';

const DEFAULT_MS = 30 * 86_400_000;
const NAME_MAX = 200;

/** Options of a rule created from an approval. The target defaults to that of the approval. */
export type Remember = {
  readonly name?: string | undefined;
  readonly expiresInMs?: number | undefined;
  readonly uses?: number | undefined;
  readonly target?: string | undefined;
  readonly anyTarget?: boolean | undefined;
};

const nothing = (why: string): Refusal => new Refusal('CLI_NOTHING_TO_REMEMBER', why);

/** Builds a rule that matches this request. Throws `CLI_NOTHING_TO_REMEMBER` if no rule can. */
export const ruleFrom = (approval: ApprovalView, remember: Remember = {}): RuleSpec => {
  const { effect, id, workflow } = approval;
  const question = questionOf(approval);
  if (question !== 'effect') throw nothing(`${id} asks ${ASKS[question]}: rules cannot answer that`);
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
      `cannot create a rule from ${id}: ${spec.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}`,
    );
  if (!matches(spec.data.match, approval))
    throw nothing(`the rule would not match ${id}: its target differs, or its gate needs a person`);
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
