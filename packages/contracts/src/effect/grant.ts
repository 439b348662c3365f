import { z } from 'zod';
import { ApprovalId, EffectId } from '../values/ids.ts';
import { Digest } from './canonical-effect.ts';

/** What a grant says, as the claims of its JWS. A statement of another use is none. Times are epoch seconds, as RFC 7519 has them. */
export const GrantClaims = z.object({
  use: z.literal('grant').optional(),
  jti: ApprovalId,
  /** The effect's id: a grant for one key is worth nothing for another. */
  sub: EffectId,
  digest: Digest,
  iat: z.int(),
  exp: z.int(),
  /** Who approved. */
  by: z.string(),
});
export type GrantClaims = z.infer<typeof GrantClaims>;

/** A grant as it travels: compact JWS over {@link GrantClaims}. The same wherever it passes, so that nobody hands on what the next refuses. */
export const Grant = z.string().min(1).max(4_096);

/** What a person says of an effect that nobody can be sure of: that it happened, that it did not, or that it is to be done again. */
export const InDoubtAnswer = z.enum(['applied', 'not_applied', 'retry']);
export type InDoubtAnswer = z.infer<typeof InDoubtAnswer>;

/**
 * What the statement on a doubt says, as the claims of its JWS: a person's answer, signed by the approvals service as a grant
 * is. It is about one doubt, and no grant: `use` tells them apart. Times are epoch seconds.
 */
export const AnswerClaims = z.object({
  use: z.literal('answer'),
  jti: ApprovalId,
  sub: EffectId,
  digest: Digest,
  /** Of the doubt: a later one of the same effect is another question. */
  epoch: z.int().min(1),
  answer: InDoubtAnswer,
  iat: z.int(),
  /** Until then an effect that is to be done again may begin. */
  exp: z.int(),
  by: z.string(),
});
export type AnswerClaims = z.infer<typeof AnswerClaims>;

/** What executors act on when it is signed. */
export const SignedClaims = z.union([AnswerClaims, GrantClaims]);
export type SignedClaims = z.infer<typeof SignedClaims>;
