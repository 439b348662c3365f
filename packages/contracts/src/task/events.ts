import { z } from 'zod';
import { ApprovalOutcome } from '../approval/status.ts';
import { RequestApproval, StuckAnswer } from '../approval/commands.ts';
import { CanonicalEffect, Digest } from '../effect/canonical-effect.ts';
import { InDoubtAnswer, Grant } from '../effect/grant.ts';
import { InDoubtCause } from '../effect/in-doubt-cause.ts';
import { TargetName } from '../recovery/circuit.ts';
import { RollbackOrigin } from '../recovery/rollback-origin.ts';
import { Verdict } from '../recovery/verdict.ts';
import { AgentName } from '../values/agent.ts';
import { ErrorBody } from '../values/errors.ts';
import { ApprovalId, CommandId, EffectId, NodeId, TaskId } from '../values/ids.ts';
import { Json, JsonObject } from '../values/json.ts';
import { AttemptReport } from '../workflow/attempt.ts';
import { Gate } from '../workflow/gate.ts';
import { OnBehalfOf, Review, TaskEvidence } from '../workflow/review.ts';
import { Outcome, WAIT_MAX_MS, WorkflowDefinition } from '../workflow/workflow.ts';
import { JobReference } from './commands.ts';
import { ArtifactState } from './registry.ts';
import { Checkpoint, CheckpointPayload, NodeWait, TaskPhase } from './status.ts';
import { Payload, StepContext, StepResult } from './step.ts';

/** Common fields of task events: id, and the phase after the event. */
const fact = <Type extends string, Shape extends z.core.$ZodLooseShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), id: TaskId, phase: TaskPhase, ...shape });

const attempt = { node: NodeId, attempt: z.int().min(1) } as const;
/** The operator command behind the event, to recognize repeats of it. */
const command = { command: CommandId.optional() } as const;

/** Rendered texts of a gate, fixed for all resends of the request. */
export const GatePrompt = z.object({
  ...RequestApproval.pick({ title: true, audience: true, body: true }).shape,
  /** Inputs of the gate, for its conditions. */
  inputs: z.record(z.string(), Json).optional(),
});
export type GatePrompt = z.infer<typeof GatePrompt>;

/**
 * Part of an attempt: `before.0`, `run`, `run.3` (an item), `afterwards.0`, `finally.0`, `inspect`,
 * `preview`.
 */
export const StepName = z.string().regex(/^[a-z]+(\.\d+)*$/);

/** State of a node that a fork takes over. */
export const CarriedNode = z.object({
  status: z.enum(['succeeded', 'skipped', 'unreached']),
  attempt: z.int().min(1),
  outputs: JsonObject.optional(),
  context: StepContext.optional(),
  payloads: z.record(z.string(), Payload).optional(),
});
export type CarriedNode = z.infer<typeof CarriedNode>;
export const ForkOrigin = z.object({
  task: TaskId,
  version: z.int().min(1),
  nodes: z.record(z.string(), CarriedNode),
});
export type ForkOrigin = z.infer<typeof ForkOrigin>;

export const TaskEvent = z.discriminatedUnion('type', [
  fact('submitted', {
    goal: z.string(),
    acceptanceCriteria: z.array(z.string()),
    inputs: JsonObject,
    requestedBy: z.string(),
    agent: AgentName.optional(),
    definition: WorkflowDefinition,
    /** Gate of effects without their own. Messages have its digest in `shared`; the history of the task has the gate. */
    gate: Gate.optional(),
    /** SHA-256 of the canonical JSON of `gate`, in its place. */
    shared: z.object({ gate: Digest }).optional(),
    /** Selector of the workflow: an alias, a file, `id@version`. */
    workflow: z.string().optional(),
    repository: z.string().optional(),
    after: z.array(JobReference).optional(),
    forkedFrom: ForkOrigin.optional(),
    onBehalfOf: OnBehalfOf.optional(),
    /** The orchestrator submitted it for a verdict. */
    rollbackOf: RollbackOrigin.optional(),
    evidence: TaskEvidence.optional(),
    /** Submission time by the database's clock, epoch milliseconds; locks are granted in this order. */
    at: z.int().optional(),
    /** Digest of the submission, to distinguish repeats from conflicts. */
    contentDigest: Digest,
  }),
  fact('ready', {}),
  fact('approval_requested', {
    ...attempt,
    revision: z.int().min(1),
    approval: ApprovalId,
    effectId: EffectId,
    effect: CanonicalEffect,
    digest: Digest,
    prompt: GatePrompt.optional(),
    /** Latest reviews and artifact at the time of the request. */
    evidence: TaskEvidence.optional(),
  }),
  fact('approval_closed', {
    ...attempt,
    approval: ApprovalId,
    outcome: ApprovalOutcome,
    by: z.string(),
    comment: z.string().optional(),
    /** Whether the node continues: the checkpoint `resume_granted`, else `resume_blocked`. */
    resumes: z.boolean().optional(),
    /** Payload of that checkpoint, when the gate writes its own. */
    payload: CheckpointPayload.optional(),
    /** With `approved` while the task is paused: the grant for later. */
    grant: Grant.optional(),
    validUntil: z.int().optional(),
  }),
  fact('effect_ordered', {
    ...attempt,
    effectId: EffectId,
    approval: ApprovalId,
    grant: Grant,
    validUntil: z.int(),
    /** The decision, when the order follows it at once: the checkpoint `resume_granted`. */
    granted: z
      .object({ by: z.string(), comment: z.string().optional(), payload: CheckpointPayload.optional() })
      .optional(),
  }),
  /** The node waits for a new reason. */
  fact('node_waiting', { ...attempt, wait: NodeWait }),
  fact('artifacts_updated', { ...attempt, artifactStates: z.array(ArtifactState) }),
  fact('node_inspected', {
    ...attempt,
    /** Artifacts of the repository that exist. */
    artifacts: z.record(z.string(), z.boolean()),
    unmet: z.string().optional(),
  }),
  fact('node_previewed', { ...attempt, preview: JsonObject, context: StepContext.optional() }),
  fact('node_started', { ...attempt, items: z.array(Json).optional() }),
  fact('locks_requested', { ...attempt }),
  fact('locks_acquired', { ...attempt }),
  fact('step_ordered', {
    ...attempt,
    step: StepName,
    effectId: EffectId,
    effect: CanonicalEffect,
    digest: Digest,
  }),
  fact('step_ended', { ...attempt, step: StepName, result: StepResult }),
  fact('node_succeeded', {
    ...attempt,
    /** The step that produced the result. */
    step: StepName.optional(),
    outputs: JsonObject,
    context: StepContext.optional(),
    payloads: z.record(z.string(), Payload).optional(),
    detail: z.string().optional(),
    exitCode: z.int().optional(),
    report: AttemptReport.optional(),
    /** The person who marked it as done. */
    by: z.string().optional(),
    ...command,
  }),
  /** Final end without success; no automatic retry follows. */
  fact('node_ended', {
    ...attempt,
    step: StepName.optional(),
    ...command,
    outcome: z.enum(['failed', 'blocked', 'cancelled', 'unreached']),
    error: ErrorBody,
    exitCode: z.int().optional(),
    hint: z.string().optional(),
    outputs: JsonObject.optional(),
    context: StepContext.optional(),
    report: AttemptReport.optional(),
  }),
  /** A route or an operator restarted these nodes; each begins its next attempt. */
  fact('restarted', {
    node: NodeId,
    nodes: z.array(NodeId),
    /** The gate of the route; absent for operators. */
    route: NodeId.optional(),
    /** The verdict behind the route. */
    verdict: Verdict.optional(),
    hint: z.string().optional(),
    by: z.string().optional(),
    ...command,
  }),
  fact('node_paused', { node: NodeId, by: z.string(), reason: z.string(), ...command }),
  fact('node_resumed', { node: NodeId, by: z.string(), ...command }),
  fact('watcher_added', { watcher: TaskId, node: NodeId.optional() }),
  fact('peer_ended', {
    peer: TaskId,
    node: NodeId.optional(),
    outcome: z.union([Outcome, z.literal('unknown')]),
  }),
  fact('node_failed', {
    ...attempt,
    step: StepName.optional(),
    outcome: z.enum(['failed', 'in_doubt']),
    error: ErrorBody,
    /** With `in_doubt`: the effect, its epoch and the cause. */
    inDoubt: z.object({ effectId: EffectId, epoch: z.int().min(1) }).optional(),
    cause: InDoubtCause.optional(),
    /** Result of the step, if it ran and failed. */
    result: StepResult.pick({ exitCode: true, hint: true, report: true }).optional(),
    /** Why operators decide: the template or the gate wants it, or a repeat that they ordered failed. */
    paused: z.string().optional(),
  }),
  /** A separate task undoes later effects and resets the worktree before the next attempt. */
  fact('rollback_ordered', {
    ...attempt,
    by: TaskId,
    commit: z.string(),
    /** Inputs of that task. */
    inputs: JsonObject,
    verdict: Verdict,
  }),
  fact('rollback_ended', { ...attempt, by: TaskId, outcome: z.union([Outcome, z.literal('unknown')]) }),
  /** The job continues in a new session, after its state is saved. */
  fact('handoff_ordered', { ...attempt, verdict: Verdict }),
  /** Asks operators how to continue a stuck job. */
  fact('stuck_asked', {
    ...attempt,
    approval: ApprovalId,
    effectId: EffectId,
    effect: CanonicalEffect,
    digest: Digest,
    question: z.int().min(1),
  }),
  fact('stuck_answered', {
    ...attempt,
    approval: ApprovalId,
    answer: StuckAnswer,
    by: z.string(),
    comment: z.string().optional(),
  }),
  /** An ordered effect is deferred because its target fails. */
  fact('node_deferred', { ...attempt, target: z.string(), reason: z.string() }),
  fact('node_undeferred', attempt),
  /** The workflow's circuit is open: the task waits until it closes or grants the trial slot. */
  fact('deferred', { circuit: TargetName, until: z.int().optional() }),
  fact('undeferred', { circuit: TargetName, trial: z.boolean() }),
  /** The budget was exhausted, and an approver granted the same amount again. */
  fact('budget_extended', { node: NodeId, approval: ApprovalId, by: z.string().optional() }),
  /** Asks approvers about an in-doubt effect. */
  fact('in_doubt_asked', {
    ...attempt,
    approval: ApprovalId,
    effectId: EffectId,
    epoch: z.int().min(1),
    /** Number of the question at the node. */
    question: z.int().min(1),
    reason: z.string(),
  }),
  fact('in_doubt_answered', {
    ...attempt,
    approval: ApprovalId,
    answer: InDoubtAnswer,
    by: z.string(),
    comment: z.string().optional(),
    statement: Grant,
  }),
  fact('checkpoint', Checkpoint.shape),
  fact('review_recorded', { review: Review, ...command }),
  fact('node_retrying', {
    ...attempt,
    delayMs: z.int().min(0).max(WAIT_MAX_MS),
    verdict: Verdict.optional(),
    /** Summary of earlier attempts. */
    hint: z.string().optional(),
    /** Number of the new session. */
    session: z.int().min(2).optional(),
    ...command,
  }),
  fact('node_skipped', { ...attempt, reason: z.string(), verdict: Verdict.optional(), ...command }),
  fact('node_blocked', { ...attempt, error: ErrorBody }),
  fact('node_escalated', { ...attempt, reason: z.string(), verdict: Verdict }),
  fact('paused', { by: z.string(), reason: z.string(), ...command }),
  fact('resumed', { by: z.string(), ...command }),
  fact('completed', { outputs: z.record(z.string(), JsonObject) }),
  fact('failed', { error: ErrorBody, outcome: z.enum(['failed', 'blocked', 'cancelled']).optional() }),
  fact('cancelled', { by: z.string(), reason: z.string() }),
  /**
   * A tombstone: the only event of a task that was cancelled before its submission arrived. The submission
   * is refused.
   */
  fact('cancelled_before_submission', { by: z.string(), reason: z.string() }),
]);
export type TaskEvent = z.infer<typeof TaskEvent>;
