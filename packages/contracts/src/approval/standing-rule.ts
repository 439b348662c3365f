import { z } from 'zod';
import { ALWAYS_A_PERSON, type ApprovalPolicy, type Asking, policyOf } from '../workflow/approval-policy.ts';
import type { CanonicalEffect } from '../effect/canonical-effect.ts';
import { ApprovalId, RuleId } from '../values/ids.ts';
import type { Json } from '../values/json.ts';
import { SideEffectKind, WAIT_MAX_MS } from '../workflow/side-effect.ts';

/** Text in which `*` stands for anything. */
const Pattern = z.string().min(1).max(512);

/** Which requests a rule is about. All of what it says has to fit; at least what is done, or on what, has to be said. */
export const RuleMatch = z
  .object({
    kinds: z
      .array(SideEffectKind)
      .min(1)
      .refine(
        (kinds) => !kinds.some((kind) => ALWAYS_A_PERSON.includes(kind)),
        `none of ${ALWAYS_A_PERSON.join(', ')}: a person looks at those`,
      )
      .optional(),
    capability: Pattern.optional(),
    target: Pattern.optional(),
    /** By the place in the arguments, such as `body.channel`. */
    arguments: z.record(z.string().min(1).max(200), Pattern).optional(),
    requester: Pattern.optional(),
    workflow: Pattern.optional(),
  })
  .refine(
    ({ capability, target, kinds }) =>
      capability !== undefined || target !== undefined || kinds !== undefined,
    'says neither kinds, nor capability, nor target: it would fit everything',
  );
export type RuleMatch = z.infer<typeof RuleMatch>;

/** A decision that somebody makes beforehand. It counts for what he might decide himself, and for nothing else. */
export const RuleSpec = z.object({
  name: z.string().min(1).max(200),
  match: RuleMatch,
  /** How long it holds, from when it is added. */
  expiresInMs: z
    .int()
    .min(60_000)
    .max(12 * WAIT_MAX_MS)
    .optional(),
  /** How often it may decide. */
  usesMax: z.int().min(1).max(1_000).optional(),
});
export type RuleSpec = z.infer<typeof RuleSpec>;

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();
const RuleAuthor = z.object({
  name: z.string(),
  groups: z.array(z.string()),
  roles: z.array(z.string()).optional(),
});

export const RuleAdded = z.object({
  type: z.literal('rule_added'),
  id: RuleId,
  spec: RuleSpec,
  /** Who answers for what it decides, as he was known then. */
  author: RuleAuthor,
  /** The approval that it was made with. */
  from: ApprovalId.optional(),
  expiresAt: Time.optional(),
  at: Time,
});
export const RuleUsed = z.object({
  type: z.literal('rule_used'),
  id: RuleId,
  approval: ApprovalId,
  requester: z.string(),
  at: Time,
});
export const RuleRevoked = z.object({
  type: z.literal('rule_revoked'),
  id: RuleId,
  by: z.string(),
  reason: z.string().max(1_000).optional(),
  at: Time,
});
export const RuleEvent = z.discriminatedUnion('type', [RuleAdded, RuleUsed, RuleRevoked]);
export type RuleEvent = z.infer<typeof RuleEvent>;

/** A rule as the API shows it. */
export const RuleView = z.object({
  id: RuleId,
  ...RuleSpec.shape,
  /** `ended` once its time or its uses are over; shown so from the next look at it. */
  status: z.enum(['active', 'ended', 'revoked']),
  author: z.string(),
  from: ApprovalId.optional(),
  addedAt: Time,
  expiresAt: Time.optional(),
  uses: z.int(),
  lastUsedAt: Time.optional(),
  revokedBy: z.string().optional(),
});
export type RuleView = z.infer<typeof RuleView>;

/** What a rule looks at. */
export type RuleSubject = Asking & {
  readonly effect: Pick<CanonicalEffect, 'kind' | 'uses' | 'target' | 'args'>;
  readonly requestedBy: string;
  readonly workflow?: string | undefined;
  readonly policy?: ApprovalPolicy | undefined;
};

/** Whether `*` in a pattern can be filled so that it is the text. Takes time in proportion to both, whatever they are. */
export const fits = (pattern: string, text: string): boolean => {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === text;
  const last = rest.at(-1) ?? '';
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last))
    return false;
  let from = first.length;
  const end = text.length - last.length;
  for (const part of rest.slice(0, -1)) {
    const at = text.indexOf(part, from);
    if (at < 0 || at + part.length > end) return false;
    from = at + part.length;
  }
  return from <= end;
};

/** What stands at a place such as `body.channel` or `items.0`, as text. */
const textAt = (value: Json, path: string): string | undefined => {
  let found: Json | undefined = value;
  for (const name of path.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, Json>>)[name];
  }
  return typeof found === 'object' ? undefined : String(found);
};

/** Whether a standing rule may decide on a request at all. What a person has to look at, no rule is about. */
export const isForRules = ({
  effect: { kind },
  ...asked
}: Pick<RuleSubject, 'policy' | 'inDoubt' | 'stuck' | 'input'> & {
  readonly effect: Pick<CanonicalEffect, 'kind'>;
}): boolean => {
  if (kind === 'work' || ALWAYS_A_PERSON.includes(kind)) return false;
  const { rules, quorum, decisions } = policyOf(asked);
  return rules && quorum === 1 && decisions.includes('approve');
};

/** Whether a request is among those that a rule is about. */
export const matches = (match: RuleMatch, request: RuleSubject): boolean => {
  const { effect, requestedBy, workflow } = request;
  const { kind, uses, target, args } = effect;
  if (kind === 'work' || !isForRules(request)) return false;
  const suits = (pattern: string | undefined, text: string | undefined): boolean =>
    pattern === undefined || (text !== undefined && fits(pattern, text));
  return (
    (match.kinds === undefined || match.kinds.includes(kind)) &&
    suits(match.capability, uses) &&
    suits(match.target, target) &&
    suits(match.requester, requestedBy) &&
    suits(match.workflow, workflow) &&
    Object.entries(match.arguments ?? {}).every(([path, pattern]) => suits(pattern, textAt(args, path)))
  );
};
