import { z } from 'zod';
import { ApprovalOutcome } from './approval.ts';
import { CanonicalEffect, Digest, Grant } from './effect.ts';
import { ErrorBody } from './errors.ts';
import { ApprovalId, CommandId, EffectId, NodeId, TaskId } from './ids.ts';
import { JsonObject } from './json.ts';
import { Verdict } from './recovery.ts';
import { WAIT_MAX_MS, WorkflowDefinition } from './workflow.ts';

export const TaskPhase = z.enum([
  'queued',
  'execution_ready',
  'executing',
  'awaiting_approval',
  'recovering',
  'paused',
  'circuit_open',
  'completed',
  'failed',
  'cancelled',
]);
export type TaskPhase = z.infer<typeof TaskPhase>;

/** A piece of work. A submission repeated with the same `id` and content finds the same task; other content is refused. */
export const SubmitTask = z.object({
  /** Chosen by the submitter, who may then repeat the submission safely. */
  id: TaskId.optional(),
  /** `id` or `id@version`. */
  workflow: z.string().min(1).max(200),
  goal: z.string().trim().min(1).max(100_000),
  acceptanceCriteria: z.array(z.string().max(10_000)).max(100).optional(),
  inputs: JsonObject.optional(),
  requestedBy: z.string().min(1).max(200).optional(),
});
export type SubmitTask = z.infer<typeof SubmitTask>;

const byHand = {
  id: TaskId,
  by: z.string().max(200).optional(),
  reason: z.string().max(1_000).optional(),
} as const;

export const CancelTask = z.object(byHand);
export const PauseTask = z.object(byHand);
export const ResumeTask = z.object(byHand);
/** Give a failed or escalated node another attempt. Without `node`: every one that failed. */
export const RetryTask = z.object({
  ...byHand,
  node: NodeId.optional(),
  /** The attempt that is to be followed by another: once it has been, asking for it again changes nothing. */
  attempt: z.int().min(1).optional(),
});

/** A verdict of the recovery service: a suggestion, which the orchestrator carries out or refuses. */
export const RecoverTask = z.object({
  task: TaskId,
  node: NodeId,
  attempt: z.int().min(1),
  verdict: Verdict,
});
export type RecoverTask = z.infer<typeof RecoverTask>;

/** What each event of a task says beside its own: gapless version, and the phase that it led to. */
const fact = <Type extends string, Shape extends z.core.$ZodLooseShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), id: TaskId, phase: TaskPhase, ...shape });

const attempt = { node: NodeId, attempt: z.int().min(1) } as const;
/** Which command by hand led to it: the same one, come again, is known by it. */
const command = { command: CommandId.optional() } as const;

export const TaskEvent = z.discriminatedUnion('type', [
  fact('submitted', {
    goal: z.string(),
    acceptanceCriteria: z.array(z.string()),
    inputs: JsonObject,
    requestedBy: z.string(),
    definition: WorkflowDefinition,
    /** Hash of what was submitted, to tell a repeat from a conflict. */
    contentDigest: Digest,
  }),
  fact('readied', {}),
  fact('approval_requested', {
    ...attempt,
    revision: z.int().min(1),
    approval: ApprovalId,
    effectId: EffectId,
    effect: CanonicalEffect,
    digest: Digest,
  }),
  fact('approval_closed', {
    ...attempt,
    approval: ApprovalId,
    outcome: ApprovalOutcome,
    by: z.string(),
    comment: z.string().optional(),
    /** With `approved` while the task is paused: the grant, kept until it goes on. */
    grant: Grant.optional(),
    validUntil: z.int().optional(),
  }),
  fact('effect_ordered', {
    ...attempt,
    effectId: EffectId,
    approval: ApprovalId,
    grant: Grant,
    validUntil: z.int(),
  }),
  fact('node_succeeded', { ...attempt, outputs: JsonObject }),
  fact('node_failed', { ...attempt, outcome: z.enum(['failed', 'in_doubt']), error: ErrorBody }),
  fact('node_retrying', {
    ...attempt,
    delayMs: z.int().min(0).max(WAIT_MAX_MS),
    verdict: Verdict.optional(),
    ...command,
  }),
  fact('node_skipped', { ...attempt, reason: z.string(), verdict: Verdict.optional() }),
  fact('node_blocked', { ...attempt, error: ErrorBody }),
  fact('node_escalated', { ...attempt, reason: z.string(), verdict: Verdict.optional() }),
  fact('paused', { by: z.string(), reason: z.string(), ...command }),
  fact('resumed', { by: z.string(), ...command }),
  fact('completed', { outputs: z.record(z.string(), JsonObject) }),
  fact('failed', { error: ErrorBody }),
  fact('cancelled', { by: z.string(), reason: z.string() }),
]);
export type TaskEvent = z.infer<typeof TaskEvent>;

/** One node of a task as the API shows it. */
export const NodeView = z.object({
  id: NodeId,
  status: z.string(),
  attempt: z.int(),
  reason: z.string().optional(),
  approval: ApprovalId.optional(),
  outputs: JsonObject.optional(),
  error: ErrorBody.optional(),
});

/** One task as the API shows it. */
export const TaskView = z.object({
  id: TaskId,
  workflow: z.string(),
  goal: z.string(),
  phase: TaskPhase,
  version: z.int(),
  nodes: z.array(NodeView),
  error: ErrorBody.optional(),
});
export type TaskView = z.infer<typeof TaskView>;
