import { z } from 'zod';
import { ApprovalOutcome, RequestApproval, StuckAnswer } from '../approval/approval.ts';
import { AttemptReport, Usage } from '../workflow/attempt.ts';
import { CircuitState, TargetName } from '../recovery/circuit.ts';
import { DoubtCause } from '../effect/in-doubt-cause.ts';
import { CanonicalEffect, Digest, DoubtAnswer, Grant } from '../effect/effect.ts';
import { ErrorBody } from '../values/errors.ts';
import { AgentName } from '../values/agent.ts';
import { ArtifactStanding } from './registry.ts';
import { Gate } from '../workflow/gate.ts';
import { ApprovalId, CommandId, EffectId, NodeId, TaskId } from '../values/ids.ts';
import { Json, JsonObject } from '../values/json.ts';
import { Verdict } from '../recovery/recovery.ts';
import { ProgramDefinition } from '../program/program.ts';
import { Payload, StepContext, StepResult } from './step.ts';
import { Budget, Outcome, WAIT_MAX_MS, WorkflowDefinition } from '../workflow/workflow.ts';

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

/** `<task>` or `<task>/<node>`. */
export const JobReference = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}(\/[A-Za-z0-9_-]{1,64})?$/, '<task> or <task>/<node>');

/** A piece of work. A submission repeated with the same `id` and content finds the same task; other content is refused. */
export const SubmitTask = z.object({
  /** Chosen by the submitter, who may then repeat the submission safely. */
  id: TaskId.optional(),
  /** `id` or `id@version`; with a definition, only the name that it was found by. */
  workflow: z.string().min(1).max(200),
  /** A workflow of one's own, with every placeholder resolved; it is checked whole before anything is recorded. */
  definition: WorkflowDefinition.optional(),
  /** A workflow whose phases are code, as its workers have registered it; by its name alone, the latest that is known. */
  program: ProgramDefinition.optional(),
  /** Absolute path of the repository that the task works in, on the executor's machine. */
  repository: z.string().min(2).max(4_096).regex(/^\//, 'an absolute path').optional(),
  /** What the entry nodes wait for: `<task>/<node>`, or `<task>` for all of it. */
  after: z.array(JobReference).max(200).optional(),
  /** A person lets the entry nodes start, or nobody has to although the workflow says so. */
  approval: z.enum(['required', 'none']).optional(),
  goal: z.string().trim().min(1).max(100_000),
  acceptanceCriteria: z.array(z.string().max(10_000)).max(100).optional(),
  inputs: JsonObject.optional(),
  requestedBy: z.string().min(1).max(200).optional(),
  /** The agent that has submitted it, for whoever `requestedBy` names. */
  agent: AgentName.optional(),
});
export type SubmitTask = z.infer<typeof SubmitTask>;

const byHand = {
  id: TaskId,
  by: z.string().max(200).optional(),
  reason: z.string().max(1_000).optional(),
} as const;

/** Without `node` the whole task is meant. */
const job = { ...byHand, node: NodeId.optional() } as const;

/** With `ifOpen` a task that has ended, or that nobody has heard of, is as good as cancelled; without it that is refused. */
export const CancelTask = z.object({ ...job, ifOpen: z.boolean().optional() });
export const PauseTask = z.object(job);
export const ResumeTask = z.object(job);
/** Leave a node out that has not started, or that failed; what follows it goes on. */
export const SkipTask = z.object({ ...byHand, node: NodeId });
/**
 * Give a failed or escalated node another attempt. Without `node`: every one that failed. With `rewind` a node that ended
 * in whatever way, and everything downstream of it, starts anew; a task that failed goes on.
 */
export const RetryTask = z.object({
  ...job,
  rewind: z.boolean().optional(),
  /** The attempt that is to be followed by another: once it has been, asking for it again changes nothing. */
  attempt: z.int().min(1).optional(),
});

/** Take a job as done that has not succeeded: somebody has done it by hand, or knows better. What follows it goes on. */
export const CompleteNode = z.object({ ...byHand, node: NodeId, outputs: JsonObject.optional() });

/** A note that whoever goes on with the task finds among its checkpoints. The same name counts once for each attempt. */
export const RecordCheckpoint = z.object({
  id: TaskId,
  node: NodeId,
  name: z.string().trim().min(1).max(200),
  note: z.string().max(1_000),
  by: z.string().max(200).optional(),
  agent: AgentName.optional(),
});
export type RecordCheckpoint = z.infer<typeof RecordCheckpoint>;

/** A verdict of the recovery service: a suggestion, which the orchestrator carries out or refuses. */
export const RecoverTask = z.object({
  task: TaskId,
  node: NodeId,
  attempt: z.int().min(1),
  verdict: Verdict,
});
export type RecoverTask = z.infer<typeof RecoverTask>;

/** How the circuit of its workflow stands, to a task that waits for it; recovery says so whenever it is asked. */
export const AdmitTask = z.object({
  id: TaskId,
  circuit: TargetName,
  /** With `half_open` this task is the one that may try. */
  state: CircuitState,
  /** With `open`: when to ask again. Epoch milliseconds; left out when a person has to close it. */
  until: z.int().optional(),
});
export type AdmitTask = z.infer<typeof AdmitTask>;

/** A task that waits for another wants to hear how it, or one of its nodes, ends. */
export const WatchTask = z.object({ id: TaskId, watcher: TaskId, node: NodeId.optional() });

/** What each event of a task says beside its own: gapless version, and the phase that it led to. */
const fact = <Type extends string, Shape extends z.core.$ZodLooseShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), id: TaskId, phase: TaskPhase, ...shape });

const attempt = { node: NodeId, attempt: z.int().min(1) } as const;
/** Which command by hand led to it: the same one, come again, is known by it. */
const command = { command: CommandId.optional() } as const;

/** What is recorded so that whoever resumes a task knows what it may go by. */
export const CheckpointKind = z.enum([
  'worker_crash_detected',
  'duplicate_effect_prevented',
  'resume_granted',
  'resume_blocked',
  /** What a gate names when a request is made, or somebody records. */
  'noted',
  /** What a gate or recovery suggested, and the orchestrator did not do. */
  'suggestion_refused',
]);
export type CheckpointKind = z.infer<typeof CheckpointKind>;
export const Checkpoint = z.object({
  kind: CheckpointKind,
  ...attempt,
  /** Of the doubt that it is about. */
  epoch: z.int().min(1).optional(),
  /** Of the request that it is about. */
  revision: z.int().min(1).optional(),
  /** What the gate calls it, or whoever has recorded it, with `noted`. */
  name: z.string().max(200).optional(),
  reason: z.string(),
  /** Who has recorded it, when it was nobody of Holdpoint. */
  by: z.string().optional(),
  agent: AgentName.optional(),
});
export type Checkpoint = z.infer<typeof Checkpoint>;

/** What a gate has people told, filled in once: whoever is asked again is asked the same. */
export const AskedByGate = z.object({
  ...RequestApproval.pick({ title: true, audience: true, body: true }).shape,
  /** The inputs of the gate, for its conditions. */
  inputs: z.record(z.string(), Json).optional(),
});
export type AskedByGate = z.infer<typeof AskedByGate>;

/** Why a node does not run yet. The order is the order in which they are looked at. */
export const WaitKind = z.enum(['dependencies', 'artifacts', 'preconditions', 'approval', 'locks', 'paused']);
export type WaitKind = z.infer<typeof WaitKind>;
export const NodeWait = z.object({ kind: WaitKind, detail: z.string() });
export type NodeWait = z.infer<typeof NodeWait>;

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
  fact('readied', {}),
  fact('approval_requested', {
    ...attempt,
    revision: z.int().min(1),
    approval: ApprovalId,
    effectId: EffectId,
    effect: CanonicalEffect,
    digest: Digest,
    asked: AskedByGate.optional(),
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
  fact('artifacts_known', { ...attempt, standings: z.array(ArtifactStanding) }),
  fact('node_inspected', {
    ...attempt,
    /** Of the repository's artifacts, which are there. */
    artifacts: z.record(z.string(), z.boolean()),
    unmet: z.string().optional(),
  }),
  fact('node_previewed', { ...attempt, preview: JsonObject, context: StepContext.optional() }),
  fact('node_started', { ...attempt, items: z.array(Json).optional() }),
  fact('locks_wanted', { ...attempt }),
  fact('locks_held', { ...attempt }),
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
  fact('rewound', {
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
  fact('watched', { watcher: TaskId, node: NodeId.optional() }),
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
    doubt: z.object({ effectId: EffectId, epoch: z.int().min(1) }).optional(),
    cause: DoubtCause.optional(),
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
  fact('continue_ordered', { ...attempt, verdict: Verdict }),
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
  fact('node_held', { ...attempt, target: z.string(), reason: z.string() }),
  fact('node_released', attempt),
  /** The circuit of its workflow is open: nothing of the task starts until it closes, or lets this one try. */
  fact('held', { circuit: TargetName, until: z.int().optional() }),
  fact('released', { circuit: TargetName, trial: z.boolean() }),
  /** Its budget was used up, and somebody has granted as much again. */
  fact('budget_extended', { node: NodeId, approval: ApprovalId, by: z.string().optional() }),
  /** People are asked what became of an effect. */
  fact('doubt_asked', {
    ...attempt,
    approval: ApprovalId,
    effectId: EffectId,
    epoch: z.int().min(1),
    /** Counts the questions that a node has put. */
    question: z.int().min(1),
    reason: z.string(),
  }),
  fact('doubt_answered', {
    ...attempt,
    approval: ApprovalId,
    answer: DoubtAnswer,
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
]);
export type TaskEvent = z.infer<typeof TaskEvent>;

/** How the command line names the state of a job. */
export const JobStatus = z.enum([
  'queued',
  'waiting_on_deps',
  'waiting_on_approval',
  'waiting_on_locks',
  'running',
  'recovering',
  'escalated',
  'paused',
  'succeeded',
  'skipped',
  'unreached',
  'failed',
  'cancelled',
  'blocked_by_dependency',
  'blocked_by_approval',
]);
export type JobStatus = z.infer<typeof JobStatus>;

/** One node of a task as the API shows it. */
export const NodeView = z.object({
  id: NodeId,
  /** As the orchestrator has it. */
  status: z.string(),
  /** As a job. */
  job: JobStatus,
  attempt: z.int(),
  uses: z.string(),
  name: z.string().optional(),
  after: z.array(NodeId),
  wait: NodeWait.optional(),
  reason: z.string().optional(),
  detail: z.string().optional(),
  exitCode: z.int().optional(),
  approval: ApprovalId.optional(),
  /** Asks people what became of its effect, or what is to become of the job. */
  question: ApprovalId.optional(),
  /** While recovery is carried out, or a person has to decide: what recovery said. */
  verdict: Verdict.omit({ hint: true, report: true }).optional(),
  /** Counts the sessions of a job that goes on in new ones. */
  session: z.int().optional(),
  /** Whether a person has to let it run. */
  gated: z.boolean(),
  /** Effects that are ordered and have no outcome yet. */
  effects: z.array(EffectId).optional(),
  locks: z.array(z.string()).optional(),
  needs: z.array(z.string()).optional(),
  produces: z.array(z.string()).optional(),
  context: StepContext.optional(),
  outputs: JsonObject.optional(),
  error: ErrorBody.optional(),
});
export type NodeView = z.infer<typeof NodeView>;

/** One task as the API shows it. */
export const TaskView = z.object({
  id: TaskId,
  workflow: z.string(),
  /** What it was found by, and the hash of the definition as it runs. */
  selector: z.string().optional(),
  definitionHash: z.string(),
  goal: z.string(),
  phase: TaskPhase,
  version: z.int(),
  repository: z.string().optional(),
  after: z.array(z.string()).optional(),
  requestedBy: z.string(),
  agent: AgentName.optional(),
  /** How the run as a whole ended, once it has. */
  outcome: Outcome.optional(),
  /** Nodes without a route for success: what `--after run:<id>` waits for. */
  sinks: z.array(NodeId),
  entries: z.array(NodeId),
  nodes: z.array(NodeView),
  /** The latest of them, oldest first. */
  checkpoints: z.array(Checkpoint).optional(),
  error: ErrorBody.optional(),
  /** What it has used, and how much it may use. */
  spent: Usage.optional(),
  budget: Budget.optional(),
  /** The circuit that it waits for. */
  circuit: z.string().optional(),
  /** Of a program: its state, as the last phase has left it, and the tasks that carry out its effects. */
  state: JsonObject.optional(),
  effects: z.array(TaskId).optional(),
});
export type TaskView = z.infer<typeof TaskView>;
