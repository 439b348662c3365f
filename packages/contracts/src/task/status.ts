import { z } from 'zod';
import { AgentName } from '../values/agent.ts';
import { NodeId } from '../values/ids.ts';

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

const attempt = { node: NodeId, attempt: z.int().min(1) } as const;

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

/** Why a node does not run yet. The order is the order in which they are looked at. */
export const WaitKind = z.enum(['dependencies', 'artifacts', 'preconditions', 'approval', 'locks', 'paused']);
export type WaitKind = z.infer<typeof WaitKind>;
export const NodeWait = z.object({ kind: WaitKind, detail: z.string() });
export type NodeWait = z.infer<typeof NodeWait>;

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
