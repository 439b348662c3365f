import { z } from 'zod';
import { Audience } from './audience.ts';
import type { SideEffectKind } from './side-effect.ts';
import { WAIT_MAX_MS } from './side-effect.ts';

/** What can be said of an effect that is to run. */
export const Verb = z.enum(['approve', 'reject', 'request_changes']);
export type Verb = z.infer<typeof Verb>;

/** Milliseconds after the request. */
const After = z.int().min(1_000).max(WAIT_MAX_MS);

/** How a decision comes about. What is left out is as it stands behind each field. */
export const ApprovalPolicy = z.object({
  /** What may be said; all of it. */
  decisions: z.array(Verb).min(1).max(3).optional(),
  /** So many different people have to approve; 1. */
  quorum: z.int().min(1).max(20).optional(),
  /** Whoever asked for the effect may not decide on it; false. */
  fourEyes: z.boolean().optional(),
  /** One rejection ends it. Without a veto it takes as many as would have approved; true. */
  veto: z.boolean().optional(),
  /** What comes of it when nobody has decided in time; `expire`, which refuses the effect as a rejection does. */
  onExpiry: z.enum(['expire', 'reject', 'request_changes']).optional(),
  /** When those who are asked are reminded; never. */
  remindMs: z.array(After).max(10).optional(),
  /** Who is asked as well when nobody has decided by then; nobody. */
  handOn: z
    .array(z.object({ afterMs: After, audience: Audience }))
    .max(5)
    .optional(),
  /** Whether a standing rule may decide; true. */
  rules: z.boolean().optional(),
});
export type ApprovalPolicy = z.infer<typeof ApprovalPolicy>;

/** What is asked: whether an effect may run, what became of one, what is to become of a job that is stuck, or what a program wants to know. */
export type Question = 'effect' | 'in_doubt' | 'stuck' | 'input';

/** What of a request says what it asks. */
export type Asking = { readonly inDoubt?: unknown; readonly stuck?: unknown; readonly input?: unknown };

export const questionOf = ({ inDoubt: doubt, stuck, input }: Asking): Question => {
  if (doubt !== undefined) return 'in_doubt';
  if (input !== undefined) return 'input';
  return stuck === undefined ? 'effect' : 'stuck';
};

/** An answer is one person's, and nobody can give it beforehand: there is nothing to count, and the question is put anew when it expires. */
const FOR_ANSWERS: ApprovalPolicy = { rules: false };

/**
 * What a policy comes to, with what it leaves out. Who may decide, and who is told again, is as it says whatever is asked; the
 * rest of it is about effects.
 */
export const policyOf = ({
  policy = {},
  ...asking
}: Asking & { readonly policy?: ApprovalPolicy | undefined }) => {
  const { fourEyes = false, remindMs = [], handOn = [] } = policy;
  const {
    decisions = Verb.options,
    quorum = 1,
    veto = true,
    onExpiry = 'expire',
    rules = true,
  } = questionOf(asking) === 'effect' ? policy : FOR_ANSWERS;
  return { decisions, quorum, fourEyes, veto, onExpiry, remindMs, handOn, rules } as const;
};
export type Policy = ReturnType<typeof policyOf>;

/** Whatever is done to the world by these, a person has looked at it: no standing rule decides on them. */
export const ALWAYS_A_PERSON: readonly SideEffectKind[] = ['merge', 'deploy', 'destructive_edit'];
