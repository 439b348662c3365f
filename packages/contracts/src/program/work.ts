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

/** Bytes of the JSON of a state, and of an output that is not kept as an artifact. */
export const STATE_MAX_BYTES = 256 * 1_024;
/** Phases that one task may go through: what never ends is stopped. */
export const VISITS_MAX = 10_000;

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
export const WorkInput = z.object({
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
export type WorkInput = z.infer<typeof WorkInput>;

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
  input: WorkInput.optional(),
});
export type WorkOrder = z.infer<typeof WorkOrder>;

/** How a phase has ended, or come to a stop, in its worker. */
export const PhaseEnd = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('completed'),
    state: JsonObject,
    output: Json.optional(),
    /** Where it goes on; nowhere after a terminal phase. */
    next: NodeId.optional(),
  }),
  /** Its guard did not hold. */
  z.object({ kind: z.literal('skipped'), next: NodeId }),
  z.object({
    kind: z.literal('failed'),
    stage: PhaseFailure.shape.stage,
    error: ErrorBody,
    /** With `pause`: how people are asked. */
    question: ProgramQuestion.pick({ title: true, body: true }).optional(),
  }),
  /** People are asked, and what they say leads on. */
  z.object({
    kind: z.literal('input_requested'),
    state: JsonObject,
    output: Json.optional(),
    question: ProgramQuestion,
  }),
  /** It waits for these, and is run again once one of them has ended. */
  z.object({ kind: z.literal('suspended'), on: z.array(EntryKey).min(1).max(ENTRIES_MAX) }),
  /** The worker stops, or cannot do it: somebody else shall. */
  z.object({ kind: z.literal('returned'), reason: z.string().max(500) }),
]);
export type PhaseEnd = z.infer<typeof PhaseEnd>;

/** What a worker says of the work that it has been given. Only the holder of the lease is heard. */
export const WorkRequest = z.object({
  task: TaskId,
  lease: z.int().min(1),
  /** The worker, by a name that no other has. */
  worker: z.string().min(1).max(100),
  request: z.discriminatedUnion('kind', [
    /** It begins. With `give` it wants all that the phase needs. */
    z.object({ kind: z.literal('claim'), withInput: z.boolean().optional() }),
    /** It is still at it. */
    z.object({ kind: z.literal('heartbeat') }),
    z.object({ kind: z.literal('record'), record: WorkRecord }),
    z.object({ kind: z.literal('end'), end: PhaseEnd }),
  ]),
});
export type WorkRequest = z.infer<typeof WorkRequest>;

/** The answer to {@link WorkRequest}; whoever does not hold the lease is refused with `ORCHESTRATOR_WORK_LOST`. */
export const WorkAnswer = z.object({
  lease: z.int(),
  /** How long the lease goes on without another word. Milliseconds. */
  leaseMs: z.int(),
  input: WorkInput.optional(),
  entry: Entry.optional(),
});
export type WorkAnswer = z.infer<typeof WorkAnswer>;
