import { z } from 'zod';
import { CanonicalEffect, Digest } from '../effect/canonical-effect.ts';
import { InDoubtAnswer } from '../effect/grant.ts';
import { AgentName } from '../values/agent.ts';
import { ApprovalId, EffectId, NodeId, TaskId } from '../values/ids.ts';
import { Json } from '../values/json.ts';
import { ApprovalPolicy, Verb } from '../workflow/approval-policy.ts';
import { Audience } from '../workflow/audience.ts';
import { FailureClass } from '../workflow/failure-class.ts';
import { InputRequest } from '../workflow/input.ts';
import { WAIT_MAX_MS } from '../workflow/side-effect.ts';
import { RuleSpec } from './standing-rule.ts';

/** Characters of a rendered text at the most: what nobody reads to its end is no help in deciding. */
export const BODY_MAX = 32_768;

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
  /** The agent that has asked, for whoever `requestedBy` names. */
  agent: AgentName.optional(),
  /** Who may decide. */
  audience: Audience,
  timeoutMs: z.int().min(1_000).max(WAIT_MAX_MS),
  /** Asks what became of the effect, not whether it may run: the answers are those of {@link InDoubtAnswer}. */
  inDoubt: z.object({ epoch: z.int().min(1), reason: z.string().max(2_000) }).optional(),
  /** Asks what is to become of a job that is stuck, whose report is the body: the answers are those of {@link StuckAnswer}. */
  stuck: z.object({ class: FailureClass, reason: z.string().max(2_000) }).optional(),
  /** Asks for something that a program wants to know: the answer is `respond`, with a response that fits. */
  input: InputRequest.optional(),
  /** What the gate has to say to whoever decides: plain text. Whoever wrote the goal may have a part in it. */
  body: z.string().max(BODY_MAX).optional(),
  /** How a decision comes about; one person's, when left out. */
  policy: ApprovalPolicy.optional(),
  /** The gate template and the workflow that it comes from. */
  gate: z.string().max(140).optional(),
  workflow: z.string().max(200).optional(),
});
export type RequestApproval = z.infer<typeof RequestApproval>;

/**
 * What a person says of a job that is stuck: try it once more, leave it out and go on with what follows, take it as done, or
 * end it.
 */
export const StuckAnswer = z.enum(['retry', 'skip', 'done', 'cancel']);
export type StuckAnswer = z.infer<typeof StuckAnswer>;

/** What may be said where a question is put, and no effect waits. */
export const Answer = z.enum([...InDoubtAnswer.options, ...StuckAnswer.exclude(['retry']).options]);
export type Answer = z.infer<typeof Answer>;

/** Whatever a person can say: what of it fits depends on what was asked. */
export const Choice = z.enum([...Verb.options, ...Answer.options, 'respond']);
export type Choice = z.infer<typeof Choice>;

/** A person's decision. Who decides is never part of it: that comes from the credentials it was sent with. */
export const DecideApproval = z.object({
  id: ApprovalId,
  decision: Choice,
  /** With `respond`: what was asked for. */
  response: Json.optional(),
  comment: z.string().max(10_000).optional(),
  /** What the person saw; refused when it is not what the request holds. */
  digest: Digest.optional(),
  /** Of this one approval, as its notice brought it. Refused when it is another's; no credentials in itself. */
  token: z.uuid().optional(),
  /** With `approve`: the rule that is to decide like this from now on. */
  remember: RuleSpec.optional(),
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
