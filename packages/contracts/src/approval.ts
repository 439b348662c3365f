import { z } from 'zod';
import { CanonicalEffect, Digest, DoubtAnswer, Grant } from './effect.ts';
import { ApprovalId, EffectId, NodeId, TaskId } from './ids.ts';
import { WAIT_MAX_MS } from './workflow.ts';

/** Ask for a decision on one exact effect. */
export const RequestApproval = z.object({
  id: ApprovalId,
  task: TaskId,
  node: NodeId,
  /** An edited effect is a new revision, with an approval of its own. */
  revision: z.int().min(1),
  effectId: EffectId,
  effect: CanonicalEffect,
  digest: Digest,
  title: z.string().min(1).max(500),
  requestedBy: z.string().min(1).max(200),
  /** Groups whose members may decide. */
  audience: z.array(z.string().min(1)).min(1),
  timeoutMs: z.int().min(1_000).max(WAIT_MAX_MS),
  /** Asks what became of the effect, not whether it may run: the answers are those of {@link DoubtAnswer}. */
  doubt: z.object({ epoch: z.int().min(1), reason: z.string().max(2_000) }).optional(),
});
export type RequestApproval = z.infer<typeof RequestApproval>;

/** What can be said of an effect that is to run. */
export const Verb = z.enum(['approve', 'reject', 'request_changes']);
export type Verb = z.infer<typeof Verb>;
/** Whatever a person can say: what of it fits depends on what was asked. */
export const Choice = z.enum([...Verb.options, ...DoubtAnswer.options]);
export type Choice = z.infer<typeof Choice>;

/** A person's decision. Who decides is never part of it: that comes from the credentials it was sent with. */
export const DecideApproval = z.object({
  id: ApprovalId,
  decision: Choice,
  comment: z.string().max(10_000).optional(),
  /** What the person saw; refused when it is not what the request holds. */
  digest: Digest.optional(),
});
export type DecideApproval = z.infer<typeof DecideApproval>;

/** The effect is not wanted any more. With all of what it is about, it counts even before its request arrives. */
export const CancelApproval = z.object({
  id: ApprovalId,
  task: TaskId.optional(),
  node: NodeId.optional(),
  revision: z.int().min(1).optional(),
  reason: z.string().max(1_000),
});
export type CancelApproval = z.infer<typeof CancelApproval>;

export const ApprovalOutcome = z.enum([
  'approved',
  'rejected',
  'changes_requested',
  'answered',
  'expired',
  'cancelled',
]);
export type ApprovalOutcome = z.infer<typeof ApprovalOutcome>;
export const ApprovalStatus = z.enum(['pending', ...ApprovalOutcome.options]);
export type ApprovalStatus = z.infer<typeof ApprovalStatus>;

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();

export const ApprovalRequested = z.object({
  type: z.literal('requested'),
  ...RequestApproval.shape,
  expiresAt: Time,
});
export const ApprovalResolved = z.object({
  type: z.literal('resolved'),
  id: ApprovalId,
  task: TaskId,
  node: NodeId,
  revision: z.int().min(1),
  outcome: ApprovalOutcome,
  by: z.string(),
  comment: z.string().optional(),
  /** With `approved`: compact JWS that lets exactly this effect run, until `validUntil`. */
  grant: Grant.optional(),
  validUntil: Time.optional(),
  /** With `answered`: what was said of the doubt, and compact JWS that says so to the executor. */
  answer: DoubtAnswer.optional(),
  statement: Grant.optional(),
  /** When it was decided. */
  at: Time,
});
export type ApprovalResolved = z.infer<typeof ApprovalResolved>;

export const ApprovalEvent = z.discriminatedUnion('type', [ApprovalRequested, ApprovalResolved]);
export type ApprovalEvent = z.infer<typeof ApprovalEvent>;

/** One approval as the API shows it. */
export const ApprovalView = z.object({
  ...RequestApproval.shape,
  status: ApprovalStatus,
  requestedAt: Time,
  expiresAt: Time,
  decidedBy: z.string().optional(),
  decidedAt: Time.optional(),
  comment: z.string().optional(),
  answer: DoubtAnswer.optional(),
});
export type ApprovalView = z.infer<typeof ApprovalView>;
