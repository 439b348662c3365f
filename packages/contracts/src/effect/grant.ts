import { z } from 'zod';
import { ApprovalId, EffectId } from '../values/ids.ts';
import { Digest } from './canonical-effect.ts';

/**
 * Claims of a grant's JWS. Statements with another `use` are no grants. Times are epoch seconds (RFC
 * 7519).
 */
export const GrantClaims = z.object({
  use: z.literal('grant').optional(),
  jti: ApprovalId,
  /** Effect id: a grant for one key does not permit another. */
  sub: EffectId,
  digest: Digest,
  iat: z.int(),
  exp: z.int(),
  /** Approver. */
  by: z.string(),
  /** Digest of the policy floor that the request was under. */
  floor: Digest.optional(),
});
export type GrantClaims = z.infer<typeof GrantClaims>;

/**
 * A grant as it travels: compact JWS over {@link GrantClaims}. One limit everywhere, so that no service
 * forwards what another refuses.
 */
export const Grant = z.string().min(1).max(4_096);

/** Answer about an in-doubt effect: it happened, it did not happen, or it should be repeated. */
export const InDoubtAnswer = z.enum(['applied', 'not_applied', 'retry']);
export type InDoubtAnswer = z.infer<typeof InDoubtAnswer>;

/**
 * Claims of the JWS that answers the question about an in-doubt effect, signed by the approvals service.
 * `use` distinguishes it from a grant. Times are epoch seconds.
 */
export const AnswerClaims = z.object({
  use: z.literal('answer'),
  jti: ApprovalId,
  sub: EffectId,
  digest: Digest,
  /** Epoch of the in-doubt effect: a later epoch is a new question. */
  epoch: z.int().min(1),
  answer: InDoubtAnswer,
  iat: z.int(),
  /** Latest start of a repeated effect. */
  exp: z.int(),
  by: z.string(),
});
export type AnswerClaims = z.infer<typeof AnswerClaims>;

/** Signed statements that executors act on, the frequent ones first: `use` tells them apart. */
export const SignedClaims = z.union([GrantClaims, AnswerClaims]);
export type SignedClaims = z.infer<typeof SignedClaims>;
