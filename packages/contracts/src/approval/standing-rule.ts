import { z } from 'zod';
import { ALWAYS_A_PERSON, type ApprovalPolicy, type Asking, policyOf } from '../workflow/approval-policy.ts';
import type { CanonicalEffect } from '../effect/canonical-effect.ts';
import { type DescribedEffect, placeOf } from '../effect/describe.ts';
import { ApprovalId, RuleId } from '../values/ids.ts';
import type { Json } from '../values/json.ts';
import { SideEffectKind, WAIT_MAX_MS } from '../workflow/side-effect.ts';

/** Text in which `*` matches any text. */
const Pattern = z.string().min(1).max(512);

/** Requests that a rule matches. All conditions must hold; the capability is required. */
export const RuleMatch = z.object({
  kinds: z
    .array(SideEffectKind)
    .min(1)
    .refine(
      (kinds) => !kinds.some((kind) => ALWAYS_A_PERSON.includes(kind)),
      `none of ${ALWAYS_A_PERSON.join(', ')}: a person looks at those`,
    )
    .optional(),
  /** A rule names a capability: a kind or a target alone would permit any capability. */
  capability: z.string('capability: missing, name the capability that the rule permits').min(1).max(512),
  /** Matches only targets that the arguments name. */
  target: Pattern.optional(),
  /** Path in the arguments, such as `body.channel`. */
  arguments: z.record(z.string().min(1).max(200), Pattern).optional(),
  requester: Pattern.optional(),
  workflow: Pattern.optional(),
});
export type RuleMatch = z.infer<typeof RuleMatch>;

/** A decision made in advance. It covers only what its author may approve. */
export const RuleSpec = z.object({
  name: z.string().min(1).max(200),
  match: RuleMatch,
  /** Lifetime from its creation. */
  expiresInMs: z
    .int()
    .min(60_000)
    .max(12 * WAIT_MAX_MS)
    .optional(),
  /** Maximum number of uses. */
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
  /** The author, with the groups of the time of creation. */
  author: RuleAuthor,
  /** The approval that it was created with. */
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
  /** `ended` when its time or its uses are exhausted; set at the next read. */
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

/** The part of a request that a rule matches. */
export type RuleSubject = Asking & {
  readonly effect: DescribedEffect;
  readonly requestedBy: string;
  readonly workflow?: string | undefined;
  readonly policy?: ApprovalPolicy | undefined;
};

/**
 * Whether `*` in a pattern can be filled so that it equals the text. Takes time proportional to both
 * lengths.
 */
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

/** The value at a path such as `body.channel` or `items.0`, as text. */
const textAt = (value: Json, path: string): string | undefined => {
  let found: Json | undefined = value;
  for (const name of path.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, Json>>)[name];
  }
  return typeof found === 'object' ? undefined : String(found);
};

/** Whether a standing rule may decide on this kind of request. */
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

/** Whether a rule matches a request. */
export const matches = (match: RuleMatch, request: RuleSubject): boolean => {
  const { effect, requestedBy, workflow } = request;
  const { uses, args } = effect;
  // A requester's own words about an effect prove nothing.
  const { kind, target, isTargetClaimed } = placeOf(effect);
  if (kind === 'work' || !isForRules({ ...request, effect: { kind } })) return false;
  const suits = (pattern: string | undefined, text: string | undefined): boolean =>
    pattern === undefined || (text !== undefined && fits(pattern, text));
  return (
    (match.kinds === undefined || match.kinds.includes(kind)) &&
    suits(match.capability, uses) &&
    suits(match.target, isTargetClaimed ? undefined : target) &&
    suits(match.requester, requestedBy) &&
    suits(match.workflow, workflow) &&
    Object.entries(match.arguments ?? {}).every(([path, pattern]) => suits(pattern, textAt(args, path)))
  );
};
