import { z } from 'zod';
import { ProgramDefinition } from '../program/definition.ts';
import { CircuitState, TargetName } from '../recovery/circuit.ts';
import { RollbackOrigin } from '../recovery/rollback-origin.ts';
import { Verdict } from '../recovery/verdict.ts';
import { AgentName } from '../values/agent.ts';
import { NodeId, TaskId } from '../values/ids.ts';
import { JsonObject } from '../values/json.ts';
import { WorkflowDefinition } from '../workflow/workflow.ts';
import { OnBehalfOf, ReviewText, TaskEvidence } from '../workflow/review.ts';
import { CheckpointPayload } from './status.ts';

/** `<task>` or `<task>/<node>`. */
export const JobReference = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}(\/[A-Za-z0-9_-]{1,64})?$/, '<task> or <task>/<node>');

/**
 * A task to run. A repeated submission with the same `id` and content returns the same task; different
 * content is refused.
 */
export const SubmitTask = z.object({
  /** Id chosen by the submitter, who can then repeat the submission safely. */
  id: TaskId.optional(),
  /** `id` or `id@version`; with a definition, only its name. */
  workflow: z.string().min(1).max(200),
  /** A complete workflow with resolved placeholders; it is validated before anything is recorded. */
  definition: WorkflowDefinition.optional(),
  /** A registered TypeScript workflow; a plain name selects the latest version. */
  program: ProgramDefinition.optional(),
  /** Absolute path of the repository on the executor's machine. */
  repository: z.string().min(2).max(4_096).regex(/^\//, 'an absolute path').optional(),
  /** Dependencies of the entry nodes: `<task>/<node>`, or `<task>` for all of it. */
  after: z.array(JobReference).max(200).optional(),
  /** `required`: a person starts the entry nodes; `none`: skips the approval that the workflow requires. */
  approval: z.enum(['required', 'none']).optional(),
  goal: z.string().trim().min(1).max(100_000),
  acceptanceCriteria: z.array(z.string().max(10_000)).max(100).optional(),
  inputs: JsonObject.optional(),
  requestedBy: z.string().min(1).max(200).optional(),
  /** The agent that submitted it on behalf of `requestedBy`. */
  agent: AgentName.optional(),
  /** The running task that the work belongs to, shown with its requests. */
  onBehalfOf: OnBehalfOf.optional(),
  /** Set by the orchestrator alone; refused from everybody else. */
  rollbackOf: RollbackOrigin.optional(),
  /** Latest reviews and artifact of the task that it belongs to. Set by the orchestrator alone. */
  evidence: TaskEvidence.optional(),
});
export type SubmitTask = z.infer<typeof SubmitTask>;

const byHand = {
  id: TaskId,
  by: z.string().max(200).optional(),
  reason: z.string().max(1_000).optional(),
} as const;

/** Without `node`, the command applies to the whole task. */
const job = { ...byHand, node: NodeId.optional() } as const;

/**
 * With `ifOpen`, an ended task is left as it is, and an unknown task is recorded as cancelled before its
 * submission.
 */
export const CancelTask = z.object({ ...job, ifOpen: z.boolean().optional() });
export const PauseTask = z.object(job);
export const ResumeTask = z.object(job);
/** Skips a node that has not started or has failed; its successors continue. */
export const SkipTask = z.object({ ...byHand, node: NodeId });
/**
 * Gives a failed or escalated node another attempt; without `node`, all failed nodes. With `rewind`, any
 * ended node and everything downstream starts again, also in a failed task.
 */
export const RetryTask = z.object({
  ...job,
  rewind: z.boolean().optional(),
  /** Number of the attempt to follow. Repeating the command after that changes nothing. */
  attempt: z.int().min(1).optional(),
});

/** Marks a job as done by hand; its successors continue. */
export const CompleteNode = z.object({ ...byHand, node: NodeId, outputs: JsonObject.optional() });

/** A checkpoint note for the next session. The same name counts once per attempt. */
export const RecordCheckpoint = z.object({
  id: TaskId,
  node: NodeId,
  /** The attempt that it belongs to; refused once another one has begun. */
  attempt: z.int().min(1).optional(),
  name: z.string().trim().min(1).max(200),
  note: z.string().max(1_000),
  payload: CheckpointPayload.optional(),
  by: z.string().max(200).optional(),
  agent: AgentName.optional(),
});
export type RecordCheckpoint = z.infer<typeof RecordCheckpoint>;

/** A review of the work of a task, by a verified person or their agent. Approvers see the latest of each kind. */
export const RecordReview = z.object({
  id: TaskId,
  ...ReviewText.shape,
  /** The node that was reviewed. */
  node: NodeId.optional(),
  by: z.string().max(200).optional(),
  agent: AgentName.optional(),
});
export type RecordReview = z.infer<typeof RecordReview>;

/** A verdict of the recovery service: the orchestrator executes or refuses it. */
export const RecoverTask = z.object({
  task: TaskId,
  node: NodeId,
  attempt: z.int().min(1),
  verdict: Verdict,
});
export type RecoverTask = z.infer<typeof RecoverTask>;

/** State of the workflow's circuit, sent to a waiting task whenever it asks. */
export const ReportCircuitState = z.object({
  id: TaskId,
  circuit: TargetName,
  /** `half_open`: this task has the trial slot. */
  state: CircuitState,
  /** With `open`: when to ask again. Epoch milliseconds; absent when an operator must close it. */
  until: z.int().optional(),
});
export type ReportCircuitState = z.infer<typeof ReportCircuitState>;

/** Another task asks for notification when this task, or one of its nodes, ends. */
export const WatchTask = z.object({ id: TaskId, watcher: TaskId, node: NodeId.optional() });
