import { z } from 'zod';
import { Digest } from '../effect/canonical-effect.ts';
import { Grant } from '../effect/grant.ts';
import { AgentName } from '../values/agent.ts';
import { ApprovalId, EffectId, NodeId, RuleId, TaskId } from '../values/ids.ts';
import { Json } from '../values/json.ts';
import { Answer, RequestApproval } from './commands.ts';
import { ApprovalOutcome, Notice, Surface, Vote } from './status.ts';

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
  /** With `answered`: what was said of the doubt, or of the job; of a doubt with compact JWS that says so to the executor. */
  answer: Answer.optional(),
  statement: Grant.optional(),
  /** With `answered`, to what a program asked for: what was said. */
  response: Json.optional(),
  /** Everybody whose word counted, where it took more than one. */
  votes: z.array(Vote).optional(),
  surface: Surface.optional(),
  /** The agent that has decided for whoever `by` names. */
  agent: AgentName.optional(),
  /** The standing rule that decided. */
  rule: RuleId.optional(),
  /** The rule that was made with it. */
  remembered: RuleId.optional(),
  digest: Digest.optional(),
  /** When it was decided. */
  at: Time,
});
export type ApprovalResolved = z.infer<typeof ApprovalResolved>;

const about = { id: ApprovalId } as const;
/** Somebody has decided, and others have to as well. A later word of the same person takes the place of an earlier one. */
export const ApprovalVoted = z.object({
  type: z.literal('voted'),
  ...about,
  ...Vote.shape,
  digest: Digest,
});
/** Somebody who may not decide has tried to. Once for each person and reason. */
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
  /** Which of the reminders, from 1. */
  reminder: z.int().min(1),
  at: Time,
});
export const ApprovalEscalated = z.object({
  type: z.literal('escalated'),
  ...about,
  /** Which of the steps, from 1. */
  step: z.int().min(1),
  /** Who may decide from now on, those of before among them. */
  audience: z.array(z.string()),
  at: Time,
});
export const NoticeDelivered = z.object({
  type: z.literal('delivered'),
  ...about,
  surface: Surface,
  notice: Notice,
  /** Which reminder, or which step; 1 of the others. */
  number: z.int().min(1),
  /** What the surface calls it. */
  reference: z.string().max(200).optional(),
  at: Time,
});
/** A surface could not be told, and is not tried any more. */
export const DeliveryFailed = z.object({
  type: z.literal('delivery_failed'),
  ...about,
  surface: Surface,
  notice: Notice,
  number: z.int().min(1),
  problem: z.string().max(1_000),
  at: Time,
});
/** What became of the effect, as its executor reported it. */
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
