import { z } from 'zod';
import { InDoubtCause } from '../effect/in-doubt-cause.ts';
import { ErrorBody } from '../values/errors.ts';
import { NodeId, TaskId } from '../values/ids.ts';
import { AttemptReport } from '../workflow/attempt.ts';
import { RecoveryRules } from '../workflow/recovery-rules.ts';
import { CapabilityLabel, EffectClass } from '../workflow/workflow.ts';
import { TargetName } from './circuit.ts';

/** Maximum characters of an attempt's output; the end is kept. */
export const OUTPUT_MAX = 65_536;

export const CommitId = z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/, 'the full id of a commit');

/** Maximum characters of the reason why operators decide about a failure. */
export const PAUSE_REASON_MAX = 1_000;

/** Worktree of an attempt and its base. */
export const WorkLocation = z.object({
  /** Relative to the repository; absent for the repository itself. */
  worktree: z.string().max(1_024).optional(),
  branch: z.string().max(256).optional(),
  /** Commit at which the worktree started. */
  base: CommitId.optional(),
});
export type WorkLocation = z.infer<typeof WorkLocation>;

const job = { task: TaskId, node: NodeId, attempt: z.int().min(1) } as const;

/** Evidence about an attempt. */
const evidence = {
  ...job,
  uses: CapabilityLabel.optional(),
  /** External target of the attempt. */
  target: TargetName.optional(),
  workflow: z.string().max(300).optional(),
  goal: z.string().max(2_000).optional(),
  exitCode: z.int().optional(),
  /** Report of the attempt, or of the agent whose work it checks. */
  report: AttemptReport.optional(),
  place: WorkLocation.optional(),
  /** Number of earlier sessions of the job. */
  session: z.int().min(1).optional(),
} as const;

/** An applied effect of the task, for operators. */
export const PastEffect = z.object({
  node: NodeId,
  uses: CapabilityLabel,
  target: z.string().max(512),
  /** The compensation; absent when none exists. */
  compensate: CapabilityLabel.optional(),
});
export type PastEffect = z.infer<typeof PastEffect>;

/** Maximum names in {@link Dependents}. */
export const DEPENDENTS_MAX = 50;

/** Jobs of the task that cannot start before this one has succeeded. */
export const Dependents = z.object({
  /** The first of them, in the order of the definition. */
  nodes: z.array(NodeId).max(DEPENDENTS_MAX),
  count: z.int().min(1),
  /** Whether the longest chain of unfinished jobs leads through this one. */
  critical: z.boolean(),
});
export type Dependents = z.infer<typeof Dependents>;

/** Asks for a verdict on a failed attempt. */
export const AssessFailure = z.object({
  ...evidence,
  /** The attempt failed, or left an effect in doubt. */
  outcome: z.enum(['failed', 'in_doubt']),
  effectClass: EffectClass.optional(),
  error: ErrorBody,
  /** End of the output. */
  output: z.string().max(OUTPUT_MAX).optional(),
  /** With `in_doubt`: the cause, and the number of workers that this attempt lost. */
  cause: InDoubtCause.optional(),
  crashes: z.int().min(0).optional(),
  /** Effects since the point of a possible rollback, latest first. */
  effects: z.array(PastEffect).max(100).optional(),
  /** Absent when no job depends on this one. */
  dependents: Dependents.optional(),
  rules: RecoveryRules.optional(),
  /** Why an earlier verdict is impossible: the job is given up. */
  refused: z.string().min(1).max(1_000).optional(),
  /** Why operators decide about this failure: the job is given up, whatever its class. */
  paused: z.string().min(1).max(PAUSE_REASON_MAX).optional(),
});
export type AssessFailure = z.infer<typeof AssessFailure>;

/** Records a successful attempt. No reply is expected. */
export const RecordAttempt = z.object({
  ...evidence,
  /** A check passed on this commit: rollbacks may use it. */
  good: CommitId.optional(),
});
export type RecordAttempt = z.infer<typeof RecordAttempt>;

/** How a job left the stuck list: by an operator, or because its task or the job itself ended. */
export const StuckResolution = z.enum(['retry', 'skip', 'done', 'cancel', 'ended']);
export type StuckResolution = z.infer<typeof StuckResolution>;
export const MarkJobUnstuck = z.object({
  ...job,
  resolution: StuckResolution,
  by: z.string().max(200).optional(),
});
export type MarkJobUnstuck = z.infer<typeof MarkJobUnstuck>;
