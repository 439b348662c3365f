import { z } from 'zod';
import { AgentName } from '../values/agent.ts';
import { NodeId } from '../values/ids.ts';
import { JsonObject } from '../values/json.ts';

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

/** The phases of a task that has ended. Nothing of it happens without a retry. */
export const EndPhase = TaskPhase.extract(['completed', 'failed', 'cancelled']);
export type EndPhase = z.infer<typeof EndPhase>;

const END_PHASES: ReadonlySet<string> = new Set(EndPhase.options);
/** Whether a task in this phase has ended. The event of the end has the name of the phase. */
export const isEndPhase = (phase: string): phase is EndPhase => END_PHASES.has(phase);

const attempt = { node: NodeId, attempt: z.int().min(1) } as const;

/** A record for later sessions of a task. */
export const CheckpointKind = z.enum([
  'worker_crash_detected',
  'duplicate_effect_prevented',
  'resume_granted',
  'resume_blocked',
  /** Named by a gate, or recorded by a client. */
  'noted',
  /** A suggestion of a gate or of recovery that the orchestrator refused. */
  'suggestion_refused',
]);
export type CheckpointKind = z.infer<typeof CheckpointKind>;

/** Characters of a payload in JSON. */
export const CHECKPOINT_PAYLOAD_MAX = 4_096;
/** Facts of a checkpoint for programs. */
export const CheckpointPayload = JsonObject.refine(
  (value) => JSON.stringify(value).length <= CHECKPOINT_PAYLOAD_MAX,
  `at most ${String(CHECKPOINT_PAYLOAD_MAX)} characters of JSON`,
);

export const Checkpoint = z.object({
  kind: CheckpointKind,
  ...attempt,
  /** Epoch of the in-doubt effect. */
  epoch: z.int().min(1).optional(),
  /** Revision of the request. */
  revision: z.int().min(1).optional(),
  /** With `noted`: the name that the gate or client chose. */
  name: z.string().max(200).optional(),
  reason: z.string(),
  payload: CheckpointPayload.optional(),
  /** The client that recorded it, or the person who decided. */
  by: z.string().optional(),
  agent: AgentName.optional(),
});
export type Checkpoint = z.infer<typeof Checkpoint>;

/** Why a node does not run yet, in order of evaluation. */
export const WaitKind = z.enum(['dependencies', 'artifacts', 'preconditions', 'approval', 'locks', 'paused']);
export type WaitKind = z.infer<typeof WaitKind>;
export const NodeWait = z.object({ kind: WaitKind, detail: z.string() });
export type NodeWait = z.infer<typeof NodeWait>;

/** State of a job, as the command line names it. */
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
