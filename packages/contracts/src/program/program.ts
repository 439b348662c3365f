import { z } from 'zod';
import { AgentName } from '../values/agent.ts';
import { ApprovalOutcome } from '../approval/approval.ts';
import { Audience } from '../workflow/audience.ts';
import { CanonicalEffect, Digest } from '../effect/effect.ts';
import { ErrorBody } from '../values/errors.ts';
import { ApprovalId, CommandId, EffectId, NodeId, TaskId } from '../values/ids.ts';
import { InputKind, InputRequest } from '../workflow/input.ts';
import { digestOf, Json, JsonObject } from '../values/json.ts';
import { CapabilityLabel, EffectClass, SideEffectKind, WAIT_MAX_MS } from '../workflow/side-effect.ts';
import { StoredArtifact } from '../effect/stored-artifact.ts';
import { Outcome, OnError, Pool } from '../workflow/workflow.ts';

/** What a failed phase of a program leads to. There is no `recover`: what its code has done is known to nobody but its code. */
export const ProgramOnError = OnError.extend({ strategy: OnError.shape.strategy.exclude(['recover']) });
export type ProgramOnError = z.infer<typeof ProgramOnError>;

/** Where a phase may lead; nothing where its code says so. */
const Next = z.array(NodeId).max(100).optional();

/** A phase as it is registered: all of it that is data. What it does is code, in the worker of whoever wrote it. */
export const ProgramPhase = z.discriminatedUnion('type', [
  z.object({ type: z.literal('agent'), id: NodeId, next: Next, onError: ProgramOnError.optional() }),
  z.object({
    type: z.literal('human'),
    id: NodeId,
    input: InputKind,
    next: Next,
    onError: ProgramOnError.optional(),
  }),
  z.object({ type: z.literal('effect'), id: NodeId, next: Next, onError: ProgramOnError.optional() }),
  z.object({ type: z.literal('terminal'), id: NodeId, outcome: Outcome.extract(['succeeded', 'failed']) }),
]);
export type ProgramPhase = z.infer<typeof ProgramPhase>;

/** A workflow whose phases are functions: what of it the orchestrator has to know. */
export const ProgramDefinition = z.object({
  id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/, 'letters, digits, dots, - and _, at most 100'),
  version: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'letters, digits, dots, - and _, at most 64'),
  /** SHA-256 of what its author wrote, its code included: what runs is what it was started with. */
  code: Digest,
  initial: NodeId,
  phases: z.array(ProgramPhase).min(1).max(100),
  /** A checkpoint each time that so many phases have ended. */
  snapshotEvery: z.int().min(1).max(10_000).optional(),
});
export type ProgramDefinition = z.infer<typeof ProgramDefinition>;

/** What names a version of a program for ever, and stands in the subject of its work: 40 hexadecimal digits. */
export const ProgramHash = z.string().regex(/^[0-9a-f]{40}$/, '40 lower-case hex digits');
export const programHash = (definition: ProgramDefinition): string => digestOf(definition).slice(0, 40);

/** Bytes of the JSON of a state, and of an output that is not kept as an artifact. */
export const STATE_MAX_BYTES = 256 * 1_024;
/** Bytes of one thing that a phase has recorded, and of all of them together. */
export const ENTRY_MAX_BYTES = 64 * 1_024;
export const ENTRIES_MAX_BYTES = 256 * 1_024;
export const ENTRIES_MAX = 1_000;
/** Phases that one task may go through: what never ends is stopped. */
export const VISITS_MAX = 10_000;

export const EntryKey = z.string().min(1).max(256);

/** A side effect as a phase asks for it. */
export const ProgramEffect = z.object({
  kind: SideEffectKind,
  uses: CapabilityLabel,
  args: JsonObject,
  target: z.string().min(1).max(512),
  idempotencyKey: z.string().min(1).max(200),
  /** For people; without one, from what it does. */
  title: z.string().min(1).max(500).optional(),
  /** Of a capability of the operator's own, which nobody else knows. */
  effectClass: EffectClass.optional(),
  audience: Audience.optional(),
  approvalTimeoutMs: z.int().min(1_000).max(WAIT_MAX_MS).optional(),
  timeoutMs: z.int().min(1_000).max(WAIT_MAX_MS).optional(),
  pool: Pool.optional(),
  probe: z.string().max(65_536).optional(),
  compensate: z.string().max(65_536).optional(),
  rollbackHint: z.string().max(10_000).optional(),
});
export type ProgramEffect = z.infer<typeof ProgramEffect>;

/** What an effect has come to. `blocked`: it was not approved. */
export const EffectEnd = z.object({
  outcome: Outcome,
  outputs: JsonObject.optional(),
  error: ErrorBody.optional(),
});
export type EffectEnd = z.infer<typeof EffectEnd>;

/** What a phase has recorded: whoever runs it again is given the same, and nothing of it happens twice. */
export const Entry = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('step'), key: EntryKey, output: Json }),
  /** Until when, by the database's clock. */
  z.object({ kind: z.literal('sleep'), key: EntryKey, until: z.int(), over: z.literal(true).optional() }),
  z.object({ kind: z.literal('artifact'), key: EntryKey, artifact: StoredArtifact }),
  z.object({
    kind: z.literal('effect'),
    key: EntryKey,
    digest: Digest,
    /** The task that carries it out: gated, approved and recorded like any other. */
    task: TaskId,
    ended: EffectEnd.optional(),
  }),
]);
export type Entry = z.infer<typeof Entry>;

/** An attempt that failed, for whoever tries again. */
export const PhaseFailure = z.object({
  attempt: z.int().min(1),
  /** In which part of the phase. */
  stage: z.enum(['guard', 'before', 'run', 'after', 'respond', 'next', 'worker']),
  error: ErrorBody,
});
export type PhaseFailure = z.infer<typeof PhaseFailure>;

/** A question to people, as a phase puts it. */
export const ProgramQuestion = z.object({
  title: z.string().trim().min(1).max(500),
  body: z.string().max(32_768).optional(),
  input: InputRequest,
  audience: Audience.optional(),
  timeoutMs: z.int().min(1_000).max(WAIT_MAX_MS).optional(),
});
export type ProgramQuestion = z.infer<typeof ProgramQuestion>;

/** What people have said: nothing when the time was over. */
export const ProgramAnswer = z.object({
  outcome: ApprovalOutcome.extract(['answered', 'expired']),
  response: Json.optional(),
  by: z.string(),
  comment: z.string().optional(),
});
export type ProgramAnswer = z.infer<typeof ProgramAnswer>;

const visit = { node: NodeId, visit: z.int().min(1), attempt: z.int().min(1) } as const;
const leased = { ...visit, lease: z.int().min(1) } as const;

/** What a worker goes by: all that the phase needs, as it stands in the store. */
export const WorkGiven = z.object({
  state: JsonObject,
  inputs: JsonObject,
  goal: z.string(),
  requestedBy: z.string(),
  repository: z.string().optional(),
  /** What was recorded in this visit of the phase, by whatever attempt or worker; effects of the whole task. */
  entries: z.array(Entry),
  /** The attempts of this visit that failed, oldest first, the latest of them at the most ten. */
  failures: z.array(PhaseFailure),
  /** What `onRetry` has made of the state was recorded for this attempt. */
  retried: z.boolean().optional(),
  /** With `respond`: what the phase asked for, what it had come to, and what people said. */
  question: ProgramQuestion.optional(),
  output: Json.optional(),
  answer: ProgramAnswer.optional(),
});
export type WorkGiven = z.infer<typeof WorkGiven>;

/** `run`: a phase from its beginning; `respond`: what follows from what people have said. */
export const Activation = z.enum(['run', 'respond']);
export type Activation = z.infer<typeof Activation>;

/** One phase of one task is to be worked on: `hp.work.<hash>`. It may come twice, or too late; the lease tells. */
export const WorkOrder = z.object({
  task: TaskId,
  ...leased,
  program: z.object({ id: z.string(), version: z.string(), hash: ProgramHash }),
  activation: Activation,
  /** Left out when it is large: it is asked for with the claim. */
  given: WorkGiven.optional(),
});
export type WorkOrder = z.infer<typeof WorkOrder>;

/** How a phase has ended, or come to a stop, in its worker. */
export const PhaseEnd = z.discriminatedUnion('how', [
  z.object({
    how: z.literal('completed'),
    state: JsonObject,
    output: Json.optional(),
    /** Where it goes on; nowhere after a terminal phase. */
    next: NodeId.optional(),
  }),
  /** Its guard did not hold. */
  z.object({ how: z.literal('skipped'), next: NodeId }),
  z.object({
    how: z.literal('failed'),
    stage: PhaseFailure.shape.stage,
    error: ErrorBody,
    /** With `pause`: how people are asked. */
    question: ProgramQuestion.pick({ title: true, body: true }).optional(),
  }),
  /** People are asked, and what they say leads on. */
  z.object({
    how: z.literal('asked'),
    state: JsonObject,
    output: Json.optional(),
    question: ProgramQuestion,
  }),
  /** It waits for these, and is run again once one of them has ended. */
  z.object({ how: z.literal('suspended'), on: z.array(EntryKey).min(1).max(ENTRIES_MAX) }),
  /** The worker stops, or cannot do it: somebody else shall. */
  z.object({ how: z.literal('returned'), reason: z.string().max(500) }),
]);
export type PhaseEnd = z.infer<typeof PhaseEnd>;

/** What a phase asks to have recorded. Under a key that is known, what is known is answered. */
export const WorkRecord = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('step'), key: EntryKey, output: Json }),
  z.object({ kind: z.literal('sleep'), key: EntryKey, ms: z.int().min(0).max(WAIT_MAX_MS) }),
  z.object({ kind: z.literal('artifact'), key: EntryKey, artifact: StoredArtifact }),
  z.object({ kind: z.literal('effect'), effect: ProgramEffect }),
  /** What `onRetry` has made of the state, for this attempt. */
  z.object({ kind: z.literal('retried'), state: JsonObject }),
]);
export type WorkRecord = z.infer<typeof WorkRecord>;

/** What a worker says of the work that it has been given. Only the holder of the lease is heard. */
export const SayOfWork = z.object({
  task: TaskId,
  lease: z.int().min(1),
  /** The worker, by a name that no other has. */
  worker: z.string().min(1).max(100),
  say: z.discriminatedUnion('what', [
    /** It begins. With `give` it wants all that the phase needs. */
    z.object({ what: z.literal('claim'), give: z.boolean().optional() }),
    /** It is still at it. */
    z.object({ what: z.literal('beat') }),
    z.object({ what: z.literal('record'), record: WorkRecord }),
    z.object({ what: z.literal('end'), end: PhaseEnd }),
  ]),
});
export type SayOfWork = z.infer<typeof SayOfWork>;

/** The answer to {@link SayOfWork}; whoever does not hold the lease is refused with `ORCHESTRATOR_WORK_LOST`. */
export const WorkAnswer = z.object({
  lease: z.int(),
  /** How long the lease goes on without another word. Milliseconds. */
  leaseMs: z.int(),
  given: WorkGiven.optional(),
  entry: Entry.optional(),
});
export type WorkAnswer = z.infer<typeof WorkAnswer>;

/** What a forked task takes over: everything as it was at the beginning of the visit that was reached. */
export const ForkedProgram = z.object({
  task: TaskId,
  version: z.int().min(1),
  node: NodeId,
  /** Effects that had happened. */
  entries: z.array(Entry),
});
export type ForkedProgram = z.infer<typeof ForkedProgram>;

/** The phases of {@link TaskPhase} that a task of a program can be in. */
const ProgramTaskPhase = z.enum([
  'execution_ready',
  'executing',
  'awaiting_approval',
  'recovering',
  'paused',
  'completed',
  'failed',
  'cancelled',
]);

const fact = <Type extends string, Shape extends z.core.$ZodLooseShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), id: TaskId, phase: ProgramTaskPhase, ...shape });

const command = { command: CommandId.optional() } as const;

/** What becomes of a task whose workflow is a program, beside what it shares with others: `paused`, `completed`, … */
export const ProgramEvent = z.discriminatedUnion('type', [
  fact('program_submitted', {
    goal: z.string(),
    acceptanceCriteria: z.array(z.string()),
    inputs: JsonObject,
    requestedBy: z.string(),
    /** The agent that has submitted it for him. */
    agent: AgentName.optional(),
    program: ProgramDefinition,
    hash: ProgramHash,
    state: JsonObject,
    repository: z.string().optional(),
    forkedFrom: ForkedProgram.optional(),
    at: z.int(),
    contentDigest: Digest,
  }),
  /** Somebody is to work on a phase. */
  fact('phase_ordered', { ...leased, activation: Activation }),
  fact('phase_started', { ...leased, worker: z.string() }),
  /** Nobody has taken it so far. */
  fact('phase_waiting', { ...visit, reason: z.string() }),
  /** With `effect`: what its task is asked to do. */
  fact('phase_recorded', { ...leased, entry: Entry, effect: ProgramEffect.optional() }),
  /** Something that it recorded has ended: an effect, or a sleep. */
  fact('phase_informed', { ...visit, key: EntryKey, ended: EffectEnd.optional() }),
  fact('phase_suspended', { ...leased, on: z.array(EntryKey) }),
  /** The worker stopped, or was not heard of any more. */
  fact('phase_returned', { ...leased, worker: z.string(), reason: z.string(), lost: z.boolean() }),
  fact('phase_retried', { ...leased, state: JsonObject }),
  fact('phase_completed', {
    ...leased,
    state: JsonObject,
    output: Json.optional(),
    next: NodeId.optional(),
  }),
  fact('phase_skipped', { ...leased, next: NodeId, reason: z.string() }),
  fact('phase_failed', { ...leased, stage: PhaseFailure.shape.stage, error: ErrorBody }),
  /** It is tried again after a while. With `by`: a person has said so. */
  fact('phase_retrying', { ...visit, delayMs: z.int().min(0), by: z.string().optional(), ...command }),
  fact('input_requested', {
    ...visit,
    approval: ApprovalId,
    effectId: EffectId,
    effect: CanonicalEffect,
    digest: Digest,
    /** Counts the questions of the task. */
    question: z.int().min(1),
    asks: ProgramQuestion,
    /** `phase`: the phase has asked; `failure`: whether it is to be tried again. */
    about: z.enum(['phase', 'failure']),
    state: JsonObject.optional(),
    output: Json.optional(),
  }),
  fact('input_received', { ...visit, approval: ApprovalId, answer: ProgramAnswer }),
  /** Where a fork may begin without losing anything; `digest` is that of the state. */
  fact('state_checkpoint', { node: NodeId, visit: z.int().min(1), digest: Digest, reason: z.string() }),
]);
export type ProgramEvent = z.infer<typeof ProgramEvent>;

/** A version that is registered. Epoch milliseconds. */
export const ProgramView = z.object({
  id: z.string(),
  version: z.string(),
  hash: ProgramHash,
  phases: z.array(NodeId),
  registeredAt: z.int(),
});
export type ProgramView = z.infer<typeof ProgramView>;
