import { z } from 'zod';
import { ApprovalOutcome } from '../approval/status.ts';
import { ErrorBody } from '../values/errors.ts';
import { NodeId, TaskId } from '../values/ids.ts';
import { Json, JsonObject } from '../values/json.ts';
import { Audience } from '../workflow/audience.ts';
import { InputRequest } from '../workflow/input.ts';
import { WAIT_MAX_MS } from '../workflow/side-effect.ts';
import { ProgramHash } from './definition.ts';
import { ENTRIES_MAX, Entry, EntryKey, WorkRecord } from './recording.ts';

/** Maximum bytes of a state in JSON, and of an output that is not an artifact. */
export const STATE_MAX_BYTES = 256 * 1_024;
/** Maximum phases of one task: stops endless loops. */
export const VISITS_MAX = 10_000;

/** A failed attempt, for the next one. */
export const PhaseFailure = z.object({
  attempt: z.int().min(1),
  /** Part of the phase that failed. */
  stage: z.enum(['guard', 'before', 'run', 'after', 'respond', 'next', 'worker']),
  error: ErrorBody,
});
export type PhaseFailure = z.infer<typeof PhaseFailure>;

/** A question of a phase to people. */
export const ProgramQuestion = z.object({
  title: z.string().trim().min(1).max(500),
  body: z.string().max(32_768).optional(),
  input: InputRequest,
  audience: Audience.optional(),
  timeoutMs: z.int().min(1_000).max(WAIT_MAX_MS).optional(),
});
export type ProgramQuestion = z.infer<typeof ProgramQuestion>;

/** Answer to a question; empty when it expired. */
export const ProgramAnswer = z.object({
  outcome: ApprovalOutcome.extract(['answered', 'expired']),
  response: Json.optional(),
  by: z.string(),
  comment: z.string().optional(),
});
export type ProgramAnswer = z.infer<typeof ProgramAnswer>;

const visit = { node: NodeId, visit: z.int().min(1), attempt: z.int().min(1) } as const;
const leased = { ...visit, lease: z.int().min(1) } as const;

/** Everything that a phase needs, from the store. */
export const WorkInput = z.object({
  state: JsonObject,
  inputs: JsonObject,
  goal: z.string(),
  acceptanceCriteria: z.array(z.string()).optional(),
  requestedBy: z.string(),
  repository: z.string().optional(),
  /** The phase before this one. */
  from: NodeId.optional(),
  /** Entries of this phase visit, and effects of the whole task. */
  entries: z.array(Entry),
  /** Failed attempts of this visit, oldest first; the last ten. */
  failures: z.array(PhaseFailure),
  /** `onRetry` has run for this attempt; `state` is its result. */
  retried: z.boolean().optional(),
  /** With `respond`: the question, the output before it, and the answer. */
  question: ProgramQuestion.optional(),
  output: Json.optional(),
  answer: ProgramAnswer.optional(),
});
export type WorkInput = z.infer<typeof WorkInput>;

/** `run`: start the phase; `respond`: continue after an answer. */
export const Activation = z.enum(['run', 'respond']);
export type Activation = z.infer<typeof Activation>;

/** A phase for workers on `hp.work.<hash>`. It may arrive twice or late; the lease decides. */
export const WorkOrder = z.object({
  task: TaskId,
  ...leased,
  program: z.object({ id: z.string(), version: z.string(), hash: ProgramHash }),
  activation: Activation,
  /** Absent when it is large: claim it with `withInput`. */
  input: WorkInput.optional(),
});
export type WorkOrder = z.infer<typeof WorkOrder>;

/** How a phase ended or stopped in its worker. */
export const PhaseEnd = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('completed'),
    state: JsonObject,
    output: Json.optional(),
    /** Next phase; absent after a terminal phase. */
    next: NodeId.optional(),
  }),
  /** The guard was false. */
  z.object({ kind: z.literal('skipped'), next: NodeId }),
  z.object({
    kind: z.literal('failed'),
    stage: PhaseFailure.shape.stage,
    error: ErrorBody,
    /** With `pause`: the question to people. */
    question: ProgramQuestion.pick({ title: true, body: true }).optional(),
  }),
  /** The phase continues after an answer of people. */
  z.object({
    kind: z.literal('input_requested'),
    state: JsonObject,
    output: Json.optional(),
    question: ProgramQuestion,
  }),
  /** The phase waits for these entries and runs again when one ends. */
  z.object({ kind: z.literal('suspended'), on: z.array(EntryKey).min(1).max(ENTRIES_MAX) }),
  /** The worker stops or cannot run the phase: another worker takes it. */
  z.object({ kind: z.literal('returned'), reason: z.string().max(500) }),
]);
export type PhaseEnd = z.infer<typeof PhaseEnd>;

/** Request of a worker about its phase. Only the holder of the lease may send it. */
export const WorkRequest = z.object({
  task: TaskId,
  lease: z.int().min(1),
  /** Unique name of the worker. */
  worker: z.string().min(1).max(100),
  request: z.discriminatedUnion('kind', [
    /** Claims the phase; `withInput` asks for its input. */
    z.object({ kind: z.literal('claim'), withInput: z.boolean().optional() }),
    /** Extends the lease. */
    z.object({ kind: z.literal('heartbeat') }),
    z.object({ kind: z.literal('record'), record: WorkRecord }),
    z.object({ kind: z.literal('end'), end: PhaseEnd }),
  ]),
});
export type WorkRequest = z.infer<typeof WorkRequest>;

/**
 * The phase of a lease, as the orchestrator ordered it. Anybody who can publish on the bus can send an order; only this
 * answer proves it.
 */
export const ClaimedPhase = z.object({
  ...visit,
  activation: Activation,
  /** SHA-256 of the present input, in canonical JSON. */
  inputSha256: z.string(),
});
export type ClaimedPhase = z.infer<typeof ClaimedPhase>;

/** Answer to {@link WorkRequest}. Without the lease, the request fails with `ORCHESTRATOR_WORK_LOST`. */
export const WorkAnswer = z.object({
  lease: z.int(),
  /** Remaining lease without further requests. Milliseconds. */
  leaseMs: z.int(),
  /** To a claim. */
  claimed: ClaimedPhase.optional(),
  input: WorkInput.optional(),
  entry: Entry.optional(),
});
export type WorkAnswer = z.infer<typeof WorkAnswer>;
