import { z } from 'zod';
import { isUnverified } from '../values/person.ts';
import { Audience } from './audience.ts';
import type { SideEffectKind } from './side-effect.ts';
import { WAIT_MAX_MS } from './side-effect.ts';

/** Decisions on an effect. */
export const Verb = z.enum(['approve', 'reject', 'request_changes']);
export type Verb = z.infer<typeof Verb>;

/** Milliseconds after the request. */
const After = z.int().min(1_000).max(WAIT_MAX_MS);

/** Decision policy; each field names its default. */
export const ApprovalPolicy = z.object({
  /** Allowed decisions; default: all. */
  decisions: z.array(Verb).min(1).max(3).optional(),
  /** Number of different approvers; default: 1. */
  quorum: z.int().min(1).max(20).optional(),
  /** Requesters cannot decide; default: false. */
  fourEyes: z.boolean().optional(),
  /** One rejection ends the request; otherwise the quorum applies to rejections too. Default: true. */
  veto: z.boolean().optional(),
  /** Reaction to the timeout; default: `expire`, which pauses the job. */
  onExpiry: z.enum(['expire', 'reject', 'request_changes']).optional(),
  /** Times of reminders; default: after an hour and after a day. Those at the timeout or later have no effect. */
  remindMs: z.array(After).max(10).optional(),
  /** Further approvers after a time; default: none. */
  handOn: z
    .array(z.object({ afterMs: After, audience: Audience }))
    .max(5)
    .optional(),
  /** Standing rules may decide; default: true. */
  rules: z.boolean().optional(),
});
export type ApprovalPolicy = z.infer<typeof ApprovalPolicy>;

/** Subject of a request: an effect, an in-doubt effect, a stuck job, or an input. */
export type Question = 'effect' | 'in_doubt' | 'stuck' | 'input';

/** Fields of a request that determine its question. */
export type Asking = { readonly inDoubt?: unknown; readonly stuck?: unknown; readonly input?: unknown };

export const questionOf = ({ inDoubt: doubt, stuck, input }: Asking): Question => {
  if (doubt !== undefined) return 'in_doubt';
  if (input !== undefined) return 'input';
  return stuck === undefined ? 'effect' : 'stuck';
};

/** Default times of reminders. */
const REMIND_MS: readonly number[] = [3_600_000, 86_400_000];

/** Questions have one answer by one person, without rules or quorum; an expired question is asked again. */
const FOR_ANSWERS: ApprovalPolicy = { rules: false };

/** Two approvers of whom one may be the unverified requester: the other is not. */
const BEYOND_DOUBT = 2;

/**
 * A policy with its defaults. Audience rules and reminders apply to all questions, the rest only to
 * effects. Four eyes on an unverified requester need two approvers, because either of them may have asked.
 */
export const policyOf = (
  asking: Asking & {
    readonly policy?: ApprovalPolicy | undefined;
    readonly requestedBy?: string | undefined;
  },
) => {
  const { policy = {}, requestedBy = '' } = asking;
  const { fourEyes = false, remindMs = REMIND_MS, handOn = [] } = policy;
  const {
    decisions = Verb.options,
    quorum: wanted = 1,
    veto = true,
    onExpiry = 'expire',
    rules = true,
  } = questionOf(asking) === 'effect' ? policy : FOR_ANSWERS;
  const quorum = fourEyes && isUnverified(requestedBy) ? Math.max(wanted, BEYOND_DOUBT) : wanted;
  return { decisions, quorum, fourEyes, veto, onExpiry, remindMs, handOn, rules } as const;
};
export type Policy = ReturnType<typeof policyOf>;

/** Kinds of effects that standing rules cannot approve. */
export const ALWAYS_A_PERSON: readonly SideEffectKind[] = ['merge', 'deploy', 'destructive_edit'];
