import { z } from 'zod';
import { ProgramDefinition } from '../program/definition.ts';
import { CircuitState, TargetName } from '../recovery/circuit.ts';
import { Verdict } from '../recovery/verdict.ts';
import { AgentName } from '../values/agent.ts';
import { NodeId, TaskId } from '../values/ids.ts';
import { JsonObject } from '../values/json.ts';
import { WorkflowDefinition } from '../workflow/workflow.ts';

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

/** With `ifOpen`, a task that has ended is left as it is, and an unknown task is recorded as cancelled before its submission. */
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
export const ReportCircuitState = z.object({
  id: TaskId,
  circuit: TargetName,
  /** With `half_open` this task is the one that may try. */
  state: CircuitState,
  /** With `open`: when to ask again. Epoch milliseconds; left out when a person has to close it. */
  until: z.int().optional(),
});
export type ReportCircuitState = z.infer<typeof ReportCircuitState>;

/** A task that waits for another wants to hear how it, or one of its nodes, ends. */
export const WatchTask = z.object({ id: TaskId, watcher: TaskId, node: NodeId.optional() });
