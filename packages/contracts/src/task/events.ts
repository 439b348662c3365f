import { z } from 'zod';
import { ApprovalOutcome } from '../approval/status.ts';
import { RequestApproval, StuckAnswer } from '../approval/commands.ts';
import { CanonicalEffect, Digest } from '../effect/canonical-effect.ts';
import { InDoubtAnswer, Grant } from '../effect/grant.ts';
import { InDoubtCause } from '../effect/in-doubt-cause.ts';
import { TargetName } from '../recovery/circuit.ts';
import { Verdict } from '../recovery/verdict.ts';
import { AgentName } from '../values/agent.ts';
import { ErrorBody } from '../values/errors.ts';
import { ApprovalId, CommandId, EffectId, NodeId, TaskId } from '../values/ids.ts';
import { Json, JsonObject } from '../values/json.ts';
import { AttemptReport } from '../workflow/attempt.ts';
import { Gate } from '../workflow/gate.ts';
import { Outcome, WAIT_MAX_MS, WorkflowDefinition } from '../workflow/workflow.ts';
import { JobReference } from './commands.ts';
import { ArtifactState } from './registry.ts';
import { Checkpoint, NodeWait, TaskPhase } from './status.ts';
import { Payload, StepContext, StepResult } from './step.ts';

/** What each event of a task says beside its own: gapless version, and the phase that it led to. */
const fact = <Type extends string, Shape extends z.core.$ZodLooseShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), id: TaskId, phase: TaskPhase, ...shape });

const attempt = { node: NodeId, attempt: z.int().min(1) } as const;
/** Which command by hand led to it: the same one, come again, is known by it. */
const command = { command: CommandId.optional() } as const;

/** What a gate has people told, filled in once: whoever is asked again is asked the same. */
export const GatePrompt = z.object({
  ...RequestApproval.pick({ title: true, audience: true, body: true }).shape,
  /** The inputs of the gate, for its conditions. */
  inputs: z.record(z.string(), Json).optional(),
});
export type GatePrompt = z.infer<typeof GatePrompt>;

/** Which part of an attempt a step is: `before.0`, `run`, `run.3` (an item), `afterwards.0`, `finally.0`, `inspect`, `preview`. */
export const StepName = z.string().regex(/^[a-z]+(\.\d+)*$/);

/** What a node of another task had come to when this one was forked from it. */
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
    /** The gate of effects that have none of their own. */
    gate: Gate.optional(),
    /** What the workflow was found by: an alias, a file, `id@version`. */
    workflow: z.string().optional(),
    repository: z.string().optional(),
    after: z.array(JobReference).optional(),
    forkedFrom: ForkOrigin.optional(),
    /** When, in epoch milliseconds by the database's clock: whoever waits for a lock is served in this order. */
    at: z.int().optional(),
    /** Hash of what was submitted, to tell a repeat from a conflict. */
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
  /** It waits, and for another reason than before. */
  fact('node_waiting', { ...attempt, wait: NodeWait }),
  fact('artifacts_updated', { ...attempt, artifactStates: z.array(ArtifactState) }),
  fact('node_inspected', {
    ...attempt,
    /** Of the repository's artifacts, which are there. */
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
    /** The step whose result it is. */
    step: StepName.optional(),
    outputs: JsonObject,
    context: StepContext.optional(),
    payloads: z.record(z.string(), Payload).optional(),
    detail: z.string().optional(),
    exitCode: z.int().optional(),
    report: AttemptReport.optional(),
    /** A person has said that it is done. */
    by: z.string().optional(),
    ...command,
  }),
  /** It came to an end without success, and nothing tries it again by itself. */
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
  /** A route led back, or a person did: these nodes start anew, each with its next attempt. */
  fact('restarted', {
    node: NodeId,
    nodes: z.array(NodeId),
    /** The gate whose route it was; left out when a person did it. */
    route: NodeId.optional(),
    /** A verdict led back by that route. */
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
    /** With `in_doubt`: what nobody can be sure of, and under which epoch; and what left it so. */
    inDoubt: z.object({ effectId: EffectId, epoch: z.int().min(1) }).optional(),
    cause: InDoubtCause.optional(),
    /** What it came to, when it was carried out and that is what failed. */
    result: StepResult.pick({ exitCode: true, hint: true, report: true }).optional(),
  }),
  /** Before another attempt the worktree goes back to a commit, and what was done since is taken back: a task of its own. */
  fact('rollback_ordered', {
    ...attempt,
    by: TaskId,
    commit: z.string(),
    /** What that task was submitted with. */
    inputs: JsonObject,
    verdict: Verdict,
  }),
  fact('rollback_ended', { ...attempt, by: TaskId, outcome: z.union([Outcome, z.literal('unknown')]) }),
  /** A job goes on in a new session: first what it has is put by for it. */
  fact('handoff_ordered', { ...attempt, verdict: Verdict }),
  /** People are asked what is to become of a job that is stuck. */
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
  /** An effect is ordered, and waits because what it talks to fails. */
  fact('node_deferred', { ...attempt, target: z.string(), reason: z.string() }),
  fact('node_undeferred', attempt),
  /** The circuit of its workflow is open: nothing of the task starts until it closes, or lets this one try. */
  fact('deferred', { circuit: TargetName, until: z.int().optional() }),
  fact('undeferred', { circuit: TargetName, trial: z.boolean() }),
  /** Its budget was used up, and somebody has granted as much again. */
  fact('budget_extended', { node: NodeId, approval: ApprovalId, by: z.string().optional() }),
  /** People are asked what became of an effect. */
  fact('in_doubt_asked', {
    ...attempt,
    approval: ApprovalId,
    effectId: EffectId,
    epoch: z.int().min(1),
    /** Counts the questions that a node has put. */
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
  fact('node_retrying', {
    ...attempt,
    delayMs: z.int().min(0).max(WAIT_MAX_MS),
    verdict: Verdict.optional(),
    /** What it is told of the attempts before it. */
    hint: z.string().optional(),
    /** It goes on in a new session: the number of that. */
    session: z.int().min(2).optional(),
    ...command,
  }),
  fact('node_skipped', { ...attempt, reason: z.string(), verdict: Verdict.optional(), ...command }),
  fact('node_blocked', { ...attempt, error: ErrorBody }),
  fact('node_escalated', { ...attempt, reason: z.string(), verdict: Verdict.optional() }),
  fact('paused', { by: z.string(), reason: z.string(), ...command }),
  fact('resumed', { by: z.string(), ...command }),
  fact('completed', { outputs: z.record(z.string(), JsonObject) }),
  fact('failed', { error: ErrorBody, outcome: z.enum(['failed', 'blocked', 'cancelled']).optional() }),
  fact('cancelled', { by: z.string(), reason: z.string() }),
  /** A tombstone: the only event of a task that was cancelled before its submission arrived. The submission is refused. */
  fact('cancelled_before_submission', { by: z.string(), reason: z.string() }),
]);
export type TaskEvent = z.infer<typeof TaskEvent>;
