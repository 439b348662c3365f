import { z } from 'zod';
import { ErrorBody } from '../values/errors.ts';
import { NodeId, TaskId } from '../values/ids.ts';
import { AttemptReport } from '../workflow/attempt.ts';
import { FailureClass } from '../workflow/failure-class.ts';
import { CommitId } from './commands.ts';
import { Verdict } from './verdict.ts';

const job = { task: TaskId, node: NodeId, attempt: z.int().min(1) } as const;

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();

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
