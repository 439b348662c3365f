import { z } from 'zod';
import { AttemptReport } from '../workflow/attempt.ts';
import { CircuitEvent, TargetName } from './circuit.ts';
import { DoubtCause } from '../effect/in-doubt-cause.ts';
import { ErrorBody } from '../values/errors.ts';
import { FailureClass, VerdictKind } from '../workflow/failure-class.ts';
import { NodeId, TaskId } from '../values/ids.ts';
import { RecoveryRules } from '../workflow/recovery-rules.ts';
import { CapabilityLabel, EffectClass, WAIT_MAX_MS } from '../workflow/workflow.ts';

export { FailureClass, VerdictKind } from '../workflow/failure-class.ts';

/** Characters of what an attempt printed, at its end. */
export const OUTPUT_MAX = 65_536;
/** Characters of what is handed to the next attempt. */
export const HINT_MAX = 32_768;
/** Characters of a report on a job that is stuck: it fits into a request. */
export const REPORT_MAX = 32_000;

export const CommitId = z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/, 'the full id of a commit');

/** Where an attempt worked, and what it could go back to. */
export const WorkPlace = z.object({
  /** Relative to the repository; left out where it was the repository itself. */
  worktree: z.string().max(1_024).optional(),
  branch: z.string().max(256).optional(),
  /** The commit that the worktree began from. */
  base: CommitId.optional(),
});
export type WorkPlace = z.infer<typeof WorkPlace>;

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
  place: WorkPlace.optional(),
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
  cause: DoubtCause.optional(),
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
export const Settlement = z.enum(['retry', 'skip', 'done', 'cancel', 'ended']);
export type Settlement = z.infer<typeof Settlement>;
export const SettleJob = z.object({ ...job, how: Settlement, by: z.string().max(200).optional() });
export type SettleJob = z.infer<typeof SettleJob>;

export const Verdict = z.object({
  kind: VerdictKind,
  /** How long to wait before a retry. */
  delayMs: z.int().min(0).max(WAIT_MAX_MS),
  class: FailureClass,
  /** Which row of the verdict table decided, as `table@version/row`. */
  rule: z.string(),
  reason: z.string(),
  /** Which rule said the class, and what it went by. */
  because: z.object({ rule: z.string().max(200), evidence: z.string().max(1_000) }).optional(),
  /** What the next attempt is told of those before it. */
  hint: z.string().max(HINT_MAX).optional(),
  /** With `rollback`: what to go back to. */
  commit: CommitId.optional(),
  /** With `continue`: the number of the session that goes on. */
  session: z.int().min(2).optional(),
  /** With `skip` and `escalate`: what a person needs to know, as Markdown. */
  report: z.string().max(REPORT_MAX).optional(),
});
export type Verdict = z.infer<typeof Verdict>;

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();

/** What was kept of an attempt, beside how it ended. All of it is left out in what was recorded before there was any. */
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
  /** Of the error without what changes from one time to the next; 16 hex digits. */
  fingerprint: z.string().optional(),
  /** The end of what it printed. */
  output: z.string().optional(),
  verdict: Verdict,
});
export type FailureAssessed = z.infer<typeof FailureAssessed>;

export const AttemptRecorded = z.object({
  type: z.literal('recorded'),
  ...job,
  ...kept,
  /** Where, and at which commit, a check has passed. */
  good: CommitId.optional(),
  worktree: WorkPlace.shape.worktree,
});
export type AttemptRecorded = z.infer<typeof AttemptRecorded>;

/** A job that was stuck is so no more. */
export const JobSettled = z.object({
  type: z.literal('settled'),
  ...job,
  at: Time,
  how: Settlement,
  by: z.string().optional(),
});
export type JobSettled = z.infer<typeof JobSettled>;

export const RecoveryEvent = z.discriminatedUnion('type', [
  FailureAssessed,
  AttemptRecorded,
  JobSettled,
  ...CircuitEvent.options,
]);
export type RecoveryEvent = z.infer<typeof RecoveryEvent>;

/** One attempt as `recovery history` shows it. */
export const AttemptView = z.object({
  ...job,
  at: Time.optional(),
  session: z.int().min(1),
  outcome: z.enum(['succeeded', 'failed', 'in_doubt']),
  approach: z.string().optional(),
  error: ErrorBody.optional(),
  fingerprint: z.string().optional(),
  class: FailureClass.optional(),
  verdict: Verdict.optional(),
  files: z.array(z.string()).optional(),
  usage: AttemptReport.shape.usage,
  /** Of a commit that a check has passed on. */
  good: CommitId.optional(),
});
export type AttemptView = z.infer<typeof AttemptView>;

/** A job that waits for a person. */
export const StuckJob = z.object({
  ...job,
  class: FailureClass,
  reason: z.string(),
  since: Time,
  attempts: z.int(),
  workflow: z.string().optional(),
  goal: z.string().optional(),
});
export type StuckJob = z.infer<typeof StuckJob>;

/** How finely failures are counted: by hours or days, both of UTC. */
export const FailureBucket = z.enum(['hour', 'day']);
export type FailureBucket = z.infer<typeof FailureBucket>;
export const FAILURE_BUCKET_MS: Readonly<Record<FailureBucket, number>> = {
  hour: 3_600_000,
  day: 86_400_000,
};
/** So many are counted at once at the most; hours before that many days are kept no longer. */
export const FAILURE_BUCKETS_MAX = 400;

/** Which failures are counted: those of every bucket that the time from `from` until before `to` touches. */
export const CountClasses = z
  .object({ from: Time.min(0), to: Time.min(1), bucket: FailureBucket.default('day') })
  .refine(({ from, to }) => from < to, { path: ['to'], error: 'has to be later than `from`' })
  .refine(({ from, to, bucket }) => to - from <= FAILURE_BUCKETS_MAX * FAILURE_BUCKET_MS[bucket], {
    path: ['from'],
    error: `at most ${String(FAILURE_BUCKETS_MAX)} hours, or days, at once`,
  });
export type CountClasses = z.infer<typeof CountClasses>;

/** The attempts that failed with one class within one bucket, which begins at `at`. */
export const FailureCount = z.object({ at: Time, class: FailureClass, count: z.int().min(1) });
export type FailureCount = z.infer<typeof FailureCount>;
