import type { Choice } from '@holdpoint/contracts/approval/commands';
import { answerIn } from '@holdpoint/contracts/approval/question';
import { InDoubtAnswer, type SignedClaims } from '@holdpoint/contracts/effect/grant';
import type { Pending, Resolution } from './state.ts';

/**
 * Signs a grant or an answer about an in-doubt effect. Ed25519 is deterministic, so the decider stays pure.
 */
export type SignGrant = (claims: SignedClaims) => string;

/** Validity of a grant or a signed answer after the decision. It outlasts an executor restart. */
export const GRANT_VALID_MS = 3_600_000;

type SignedFields = Pick<Resolution, 'grant' | 'validUntil' | 'answer' | 'statement'>;

/** The executor accepts only statements signed with this service's key. */
export const signatureFor = (
  { request }: Pending,
  choice: Choice,
  by: string,
  now: number,
  sign: SignGrant,
): SignedFields => {
  const { id, effectId, digest, inDoubt: doubt } = request;
  const validUntil = now + GRANT_VALID_MS;
  const seconds = (ms: number): number => Math.floor(ms / 1_000);
  const claims = { jti: id, sub: effectId, digest, by, iat: seconds(now), exp: seconds(validUntil) };
  const floor = request.floor && { floor: request.floor.digest };
  const answer = answerIn(choice);
  if (answer === undefined)
    return choice === 'approve' ? { grant: sign({ ...claims, ...floor }), validUntil } : {};
  const { data: ofDoubt } = InDoubtAnswer.safeParse(answer);
  // An answer about a stuck job needs no signature: only the orchestrator uses it.
  if (doubt === undefined || ofDoubt === undefined) return { answer };
  return { answer, statement: sign({ use: 'answer', ...claims, epoch: doubt.epoch, answer: ofDoubt }) };
};
