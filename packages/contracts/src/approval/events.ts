import { z } from 'zod';
import { compiled } from '../values/compiled.ts';
import { Digest } from '../effect/canonical-effect.ts';
import { Risk } from '../effect/describe.ts';
import { Grant } from '../effect/grant.ts';
import { AgentName } from '../values/agent.ts';
import { ApprovalId, EffectId, NodeId, RuleId, TaskId } from '../values/ids.ts';
import { Json } from '../values/json.ts';
import { Answer, RequestApproval } from './commands.ts';
import { RequestFloor } from './policy-floor.ts';
import { ApprovalOutcome, Notice, Surface, Vote } from './status.ts';

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();

export const ApprovalRequested = z.object({
  type: z.literal('requested'),
  ...RequestApproval.shape,
  expiresAt: Time,
  /** The policy floor and its changes. The other fields are in force. */
  floor: RequestFloor.optional(),
  /** Of a remote effect: the description of its capability, and the risk if the definition raises it. */
  description: z.string().max(2_000).optional(),
  risk: Risk.optional(),
});
export const ApprovalResolved = compiled(
  z.object({
    type: z.literal('resolved'),
    id: ApprovalId,
    task: TaskId,
    node: NodeId,
    revision: z.int().min(1),
    outcome: ApprovalOutcome,
    by: z.string(),
    comment: z.string().optional(),
    /** With `approved`: compact JWS that permits exactly this effect until `validUntil`. */
    grant: Grant.optional(),
    validUntil: Time.optional(),
    /**
     * With `answered`: the answer to the question about an in-doubt effect or a stuck job. For in-doubt
     * effects, a compact JWS states it to the executor.
     */
    answer: Answer.optional(),
    statement: Grant.optional(),
    /** With `answered` to a request for input: the response. */
    response: Json.optional(),
    /** Every counted vote, when the policy needs several. */
    votes: z.array(Vote).optional(),
    surface: Surface.optional(),
    /** The agent that decided on behalf of `by`. */
    agent: AgentName.optional(),
    /** The standing rule that decided. */
    rule: RuleId.optional(),
    /** The standing rule that was created with the decision. */
    remembered: RuleId.optional(),
    digest: Digest.optional(),
    at: Time,
  }),
);
export type ApprovalResolved = z.infer<typeof ApprovalResolved>;

const about = { id: ApprovalId } as const;
/** One of several required votes. A later vote of the same person replaces an earlier one. */
export const ApprovalVoted = z.object({
  type: z.literal('voted'),
  ...about,
  ...Vote.shape,
  digest: Digest,
});
/** A person without permission tried to decide. Recorded once per person and reason. */
export const DecisionRefused = z.object({
  type: z.literal('decision_refused'),
  ...about,
  by: z.string(),
  code: z.string(),
  surface: Surface.optional(),
  agent: AgentName.optional(),
  at: Time,
});
export const ApprovalReminded = z.object({
  type: z.literal('reminded'),
  ...about,
  /** Number of the reminder, from 1. */
  reminder: z.int().min(1),
  at: Time,
});
export const ApprovalEscalated = z.object({
  type: z.literal('escalated'),
  ...about,
  /** Number of the escalation step, from 1. */
  step: z.int().min(1),
  /** All approvers from now on, including earlier ones. */
  audience: z.array(z.string()),
  at: Time,
});
export const NoticeDelivered = z.object({
  type: z.literal('delivered'),
  ...about,
  surface: Surface,
  notice: Notice,
  /** Number of the reminder or escalation step; 1 for other notices. */
  number: z.int().min(1),
  /** Id of the notice on the surface. */
  reference: z.string().max(200).optional(),
  at: Time,
});
/** Delivery to a surface failed and is not retried. */
export const DeliveryFailed = z.object({
  type: z.literal('delivery_failed'),
  ...about,
  surface: Surface,
  notice: Notice,
  number: z.int().min(1),
  problem: z.string().max(1_000),
  at: Time,
});
/** Outcome of the effect, as its executor reported it. */
export const EffectOutcomeRecorded = z.object({
  type: z.literal('effect_outcome_recorded'),
  ...about,
  effect: EffectId,
  outcome: z.string().max(64),
  epoch: z.int(),
  at: Time,
});
export type EffectOutcomeRecorded = z.infer<typeof EffectOutcomeRecorded>;

export const ApprovalEvent = z.discriminatedUnion('type', [
  ApprovalRequested,
  ApprovalResolved,
  ApprovalVoted,
  DecisionRefused,
  ApprovalReminded,
  ApprovalEscalated,
  NoticeDelivered,
  DeliveryFailed,
  EffectOutcomeRecorded,
]);
export type ApprovalEvent = z.infer<typeof ApprovalEvent>;
