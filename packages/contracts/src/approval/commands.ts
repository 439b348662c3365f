import { z } from 'zod';
import { CanonicalEffect, Digest } from '../effect/canonical-effect.ts';
import { InDoubtAnswer } from '../effect/grant.ts';
import { AgentName } from '../values/agent.ts';
import { RollbackOrigin } from '../recovery/rollback-origin.ts';
import { ApprovalId, EffectId, NodeId, TaskId } from '../values/ids.ts';
import { Json } from '../values/json.ts';
import { ApprovalPolicy, Verb } from '../workflow/approval-policy.ts';
import { AudienceMember } from '../workflow/audience.ts';
import { FailureClass } from '../workflow/failure-class.ts';
import { InputRequest } from '../workflow/input.ts';
import { OnBehalfOf, TaskEvidence } from '../workflow/review.ts';
import { WAIT_MAX_MS } from '../workflow/side-effect.ts';
import { RuleSpec } from './standing-rule.ts';

/** Maximum characters of a rendered text. Longer texts are not read and do not help a decision. */
export const BODY_MAX = 32_768;

/** Facts about the task for approvers. What a task does not have is left out; longer texts are cut. */
export const RequestFacts = z.object({
  goal: z.string().max(4_000),
  acceptanceCriteria: z.array(z.string().max(1_000)).max(20).optional(),
  /** Phase of the task, with the request open. */
  phase: z.string().max(64),
  attempt: z.int().min(1),
  ...TaskEvidence.shape,
  rollbackHint: z.string().max(2_000).optional(),
  onBehalfOf: OnBehalfOf.optional(),
});
export type RequestFacts = z.infer<typeof RequestFacts>;

/** Request for a decision on one exact effect. */
export const RequestApproval = z.object({
  id: ApprovalId,
  task: TaskId,
  node: NodeId,
  /** An edited effect is a new revision with its own approval. */
  revision: z.int().min(1),
  effectId: EffectId,
  effect: CanonicalEffect,
  digest: Digest,
  title: z.string().min(1).max(500),
  requestedBy: z.string().min(1).max(200),
  /** The agent that made the request on behalf of `requestedBy`. */
  agent: AgentName.optional(),
  /** Approvers. Empty: the audience of the policy floor. */
  audience: z.array(AudienceMember).max(50),
  timeoutMs: z.int().min(1_000).max(WAIT_MAX_MS),
  /** The request asks whether an effect in doubt happened; its answers are {@link InDoubtAnswer}. */
  inDoubt: z.object({ epoch: z.int().min(1), reason: z.string().max(2_000) }).optional(),
  /**
   * The request asks how to continue a stuck job, whose report is the body; its answers are {@link
   * StuckAnswer}.
   */
  stuck: z.object({ class: FailureClass, reason: z.string().max(2_000) }).optional(),
  /** The request asks for input of a TypeScript workflow; the answer is `respond` with a valid response. */
  input: InputRequest.optional(),
  /** Text of the gate for approvers: plain text, partly written by the author of the goal. */
  body: z.string().max(BODY_MAX).optional(),
  /** Decision policy; default: one approval by one person. */
  policy: ApprovalPolicy.optional(),
  facts: RequestFacts.optional(),
  /** The gate template and its workflow. */
  gate: z.string().max(140).optional(),
  workflow: z.string().max(200).optional(),
  /** The orchestrator ordered this rollback for a verdict of that attempt. */
  rollbackOf: RollbackOrigin.optional(),
});
export type RequestApproval = z.infer<typeof RequestApproval>;

/** How to continue a stuck job: try it again, skip it, take it as done, or cancel it. */
export const StuckAnswer = z.enum(['retry', 'skip', 'done', 'cancel']);
export type StuckAnswer = z.infer<typeof StuckAnswer>;

/** Answers to questions that concern no waiting effect. */
export const Answer = z.enum([...InDoubtAnswer.options, ...StuckAnswer.exclude(['retry']).options]);
export type Answer = z.infer<typeof Answer>;

/** Every possible decision; the request limits the valid ones. */
export const Choice = z.enum([...Verb.options, ...Answer.options, 'respond']);
export type Choice = z.infer<typeof Choice>;

/** A decision. The credentials of the call name the decider, so no field does. */
export const DecideApproval = z.object({
  id: ApprovalId,
  decision: Choice,
  /** With `respond`: the requested input. */
  response: Json.optional(),
  comment: z.string().max(10_000).optional(),
  /** Digest of the effect that the decider saw. A decision without it, or with another one, is refused. */
  digest: Digest.optional(),
  /**
   * Token of this one approval, from its notice. It refuses decisions on other approvals and is no
   * credential.
   */
  token: z.uuid().optional(),
  /** With `approve`: a standing rule for future requests. */
  remember: RuleSpec.optional(),
});
export type DecideApproval = z.infer<typeof DecideApproval>;

/** A decision on the request of a task that waits. `approval` names it where several wait. */
export const AnswerTask = DecideApproval.pick({ response: true, comment: true }).extend({
  id: TaskId,
  answer: Choice,
  /** Digest of the effect that the decider saw. */
  digest: Digest,
  approval: ApprovalId.optional(),
});
export type AnswerTask = z.infer<typeof AnswerTask>;

/**
 * The effect is no longer wanted. With task, node and revision it also applies before its request arrives.
 */
export const CancelApproval = z.object({
  id: ApprovalId,
  task: TaskId.optional(),
  node: NodeId.optional(),
  revision: z.int().min(1).optional(),
  reason: z.string().max(1_000),
});
export type CancelApproval = z.infer<typeof CancelApproval>;
