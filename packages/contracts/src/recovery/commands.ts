import { z } from 'zod';
import { InDoubtCause } from '../effect/in-doubt-cause.ts';
import { ErrorBody } from '../values/errors.ts';
import { NodeId, TaskId } from '../values/ids.ts';
import { AttemptReport } from '../workflow/attempt.ts';
import { RecoveryRules } from '../workflow/recovery-rules.ts';
import { CapabilityLabel, EffectClass } from '../workflow/workflow.ts';
import { TargetName } from './circuit.ts';

/** Characters of what an attempt printed, at its end. */
export const OUTPUT_MAX = 65_536;

export const CommitId = z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/, 'the full id of a commit');

/** Where an attempt worked, and what it could go back to. */
export const WorkLocation = z.object({
  /** Relative to the repository; left out where it was the repository itself. */
  worktree: z.string().max(1_024).optional(),
  branch: z.string().max(256).optional(),
  /** The commit that the worktree began from. */
  base: CommitId.optional(),
});
export type WorkLocation = z.infer<typeof WorkLocation>;

const job = { task: TaskId, node: NodeId, attempt: z.int().min(1) } as const;

/** What is known of one attempt, whatever came of it. */
const evidence = {
  ...job,
  uses: CapabilityLabel.optional(),
  /** What it talked to, by its name outside. */
  target: TargetName.optional(),
  workflow: z.string().max(300).optional(),
  goal: z.string().max(2_000).optional(),
  exitCode: z.int().optional(),
  /** Its own, or of the agent whose work it checks. */
  report: AttemptReport.optional(),
  place: WorkLocation.optional(),
  /** How often the job has gone on in a new session before. */
  session: z.int().min(1).optional(),
} as const;

/** An effect of the task that has happened, for whoever has to see to it. */
export const PastEffect = z.object({
  node: NodeId,
  uses: CapabilityLabel,
  target: z.string().max(512),
  /** What takes it back; left out where nothing does. */
  compensate: CapabilityLabel.optional(),
});
export type PastEffect = z.infer<typeof PastEffect>;

/** Ask what to do about one failed attempt. */
export const AssessFailure = z.object({
  ...evidence,
  /** How the attempt ended: with an error, or with an effect that nobody can be sure of. */
  outcome: z.enum(['failed', 'in_doubt']),
  effectClass: EffectClass.optional(),
  error: ErrorBody,
  /** The end of what it printed. */
  output: z.string().max(OUTPUT_MAX).optional(),
  /** With `in_doubt`: what left the doubt, and how often this attempt has lost its worker. */
  cause: InDoubtCause.optional(),
  crashes: z.int().min(0).optional(),
  /** Which have happened since the point that the job may be sent back to, the latest first. */
  effects: z.array(PastEffect).max(100).optional(),
  rules: RecoveryRules.optional(),
  /** Why what was said of this attempt cannot be done: then it is given up. */
  refused: z.string().min(1).max(1_000).optional(),
});
export type AssessFailure = z.infer<typeof AssessFailure>;

/** Keep in mind what an attempt came to that has succeeded. Nobody waits for an answer. */
export const RecordAttempt = z.object({
  ...evidence,
  /** A check has passed on exactly this commit: it may be gone back to. */
  good: CommitId.optional(),
});
export type RecordAttempt = z.infer<typeof RecordAttempt>;

/** How a job came off the stuck list: by a person's word, by the end of its task, or because it has turned out to be done. */
export const StuckResolution = z.enum(['retry', 'skip', 'done', 'cancel', 'ended']);
export type StuckResolution = z.infer<typeof StuckResolution>;
export const MarkJobUnstuck = z.object({ ...job, resolution: StuckResolution, by: z.string().max(200).optional() });
export type MarkJobUnstuck = z.infer<typeof MarkJobUnstuck>;
