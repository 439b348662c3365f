import { z } from 'zod';
import { ErrorBody } from '../values/errors.ts';
import { NodeId, TaskId } from '../values/ids.ts';
import { AttemptReport } from '../workflow/attempt.ts';
import { CapabilityLabel } from '../workflow/workflow.ts';
import { CircuitEvent } from './circuit.ts';
import { CommitId, StuckResolution, WorkLocation } from './commands.ts';
import { Verdict } from './verdict.ts';

const job = { task: TaskId, node: NodeId, attempt: z.int().min(1) } as const;

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();

/** Recorded details of an attempt. Old events lack them. */
const kept = {
  at: Time.optional(),
  session: z.int().min(1).optional(),
  uses: CapabilityLabel.optional(),
  workflow: z.string().optional(),
  goal: z.string().optional(),
  exitCode: z.int().optional(),
  report: AttemptReport.optional(),
} as const;

export const FailureAssessed = z.object({
  type: z.literal('assessed'),
  ...job,
  ...kept,
  error: ErrorBody,
  /** Hash of the normalized error, 16 hex digits. */
  fingerprint: z.string().optional(),
  /** End of the output. */
  output: z.string().optional(),
  verdict: Verdict,
});
export type FailureAssessed = z.infer<typeof FailureAssessed>;

export const AttemptRecorded = z.object({
  type: z.literal('attempt_recorded'),
  ...job,
  ...kept,
  /** Worktree and commit of a passed check. */
  good: CommitId.optional(),
  worktree: WorkLocation.shape.worktree,
});
export type AttemptRecorded = z.infer<typeof AttemptRecorded>;

/** A job is no longer stuck. */
export const JobUnstuck = z.object({
  type: z.literal('job_unstuck'),
  ...job,
  at: Time,
  resolution: StuckResolution,
  by: z.string().optional(),
});
export type JobUnstuck = z.infer<typeof JobUnstuck>;

export const RecoveryEvent = z.discriminatedUnion('type', [
  FailureAssessed,
  AttemptRecorded,
  JobUnstuck,
  ...CircuitEvent.options,
]);
export type RecoveryEvent = z.infer<typeof RecoveryEvent>;
