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

/** One attempt in `recovery history`. */
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
  /** Commit of a passed check. */
  good: CommitId.optional(),
});
export type AttemptView = z.infer<typeof AttemptView>;

/** A job that waits for an operator. */
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

/** Bucket size of failure counts, in UTC. */
export const FailureBucket = z.enum(['hour', 'day']);
export type FailureBucket = z.infer<typeof FailureBucket>;
export const FAILURE_BUCKET_MS: Readonly<Record<FailureBucket, number>> = {
  hour: 3_600_000,
  day: 86_400_000,
};
/** Maximum buckets of one request; hourly counts older than this many days are deleted. */
export const FAILURE_BUCKETS_MAX = 400;

/** Time range of the counts: every bucket that overlaps `from` (inclusive) to `to` (exclusive). */
export const CountClasses = z
  .object({ from: Time.min(0), to: Time.min(1), bucket: FailureBucket.default('day') })
  .refine(({ from, to }) => from < to, { path: ['to'], error: 'has to be later than `from`' })
  .refine(({ from, to, bucket }) => to - from <= FAILURE_BUCKETS_MAX * FAILURE_BUCKET_MS[bucket], {
    path: ['from'],
    error: `at most ${String(FAILURE_BUCKETS_MAX)} hours or days per request`,
  });
export type CountClasses = z.infer<typeof CountClasses>;

/** Number of failed attempts of a class in the bucket that begins at `at`. */
export const FailureCount = z.object({ at: Time, class: FailureClass, count: z.int().min(1) });
export type FailureCount = z.infer<typeof FailureCount>;
