import { z } from 'zod';
import { AgentName } from '../values/agent.ts';
import { ApprovalPolicy, Verb } from '../workflow/approval-policy.ts';
import { Audience } from '../workflow/audience.ts';
import { CanonicalEffect, Digest, DoubtAnswer, Grant } from '../effect/effect.ts';
import { FailureClass } from '../workflow/failure-class.ts';
import { ApprovalId, EffectId, NodeId, RuleId, TaskId } from '../values/ids.ts';
import { InputRequest } from '../workflow/input.ts';
import { Json } from '../values/json.ts';
import { WAIT_MAX_MS } from '../workflow/side-effect.ts';
import { RuleSpec } from './standing-rule.ts';

export { Verb } from '../workflow/approval-policy.ts';

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
  /** Asks what became of the effect, not whether it may run: the answers are those of {@link DoubtAnswer}. */
  doubt: z.object({ epoch: z.int().min(1), reason: z.string().max(2_000) }).optional(),
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
export const Answer = z.enum([...DoubtAnswer.options, ...StuckAnswer.exclude(['retry']).options]);
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

/** Where a decision was made. */
export const Surface = z.enum(['api', 'cli', 'http', 'web', 'websocket', 'discord', 'rule', 'clock']);
export type Surface = z.infer<typeof Surface>;

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();

/** What one person has said, where more than one has to. */
export const Vote = z.object({
  by: z.string(),
  decision: Verb,
  comment: z.string().optional(),
  surface: Surface.optional(),
  /** The agent that has said it for him. */
  agent: AgentName.optional(),
  at: Time,
});
export type Vote = z.infer<typeof Vote>;

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
export const ApprovalHandedOn = z.object({
  type: z.literal('handed_on'),
  ...about,
  /** Which of the steps, from 1. */
  step: z.int().min(1),
  /** Who may decide from now on, those of before among them. */
  audience: z.array(z.string()),
  at: Time,
});
/** What people are told of: that they are asked, reminded, asked as well, and what was decided. */
export const Notice = z.enum(['requested', 'reminded', 'handed_on', 'resolved']);
export type Notice = z.infer<typeof Notice>;
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
export const EffectNoted = z.object({
  type: z.literal('effect_noted'),
  ...about,
  effect: EffectId,
  outcome: z.string().max(64),
  epoch: z.int(),
  at: Time,
});
export type EffectNoted = z.infer<typeof EffectNoted>;

export const ApprovalEvent = z.discriminatedUnion('type', [
  ApprovalRequested,
  ApprovalResolved,
  ApprovalVoted,
  DecisionRefused,
  ApprovalReminded,
  ApprovalHandedOn,
  NoticeDelivered,
  DeliveryFailed,
  EffectNoted,
]);
export type ApprovalEvent = z.infer<typeof ApprovalEvent>;

/** `high`: what it does cannot simply be undone, or changes what is in use. */
export const Risk = z.enum(['low', 'medium', 'high']);
export type Risk = z.infer<typeof Risk>;

export const riskOf = ({ kind, effectClass }: Pick<CanonicalEffect, 'kind' | 'effectClass'>): Risk => {
  if (kind === 'deploy' || kind === 'merge' || kind === 'destructive_edit') return 'high';
  if (kind === 'write_external') return effectClass === 'opaque' ? 'high' : 'medium';
  return effectClass === 'opaque' ? 'medium' : 'low';
};

/** One approval as the API shows it. */
export const ApprovalView = z.object({
  ...RequestApproval.shape,
  status: ApprovalStatus,
  requestedAt: Time,
  expiresAt: Time,
  decidedBy: z.string().optional(),
  /** The agent that has decided for him. */
  decidedByAgent: AgentName.optional(),
  decidedAt: Time.optional(),
  comment: z.string().optional(),
  answer: Answer.optional(),
  response: Json.optional(),
  /** How much harm it could do, from its kind and class. */
  risk: Risk.optional(),
  /** Who has decided so far, where more than one has to. */
  votes: z.array(Vote).optional(),
  surface: Surface.optional(),
  rule: RuleId.optional(),
  remembered: RuleId.optional(),
  /** What became of the effect last, as it was reported. */
  outcome: z.string().optional(),
});
export type ApprovalView = z.infer<typeof ApprovalView>;
