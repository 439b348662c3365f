import { z } from 'zod';
import { FailureClass } from './failure-class.ts';
import { WAIT_MAX_MS } from './side-effect.ts';

/** Most characters of a pattern: the syntax is RE2's, which never takes longer than its text is long. */
const PATTERN_MAX = 1_000;

/** What a failure is recognised by. All that is said of it has to hold. */
export const ClassRule = z.object({
  id: z.string().regex(/^[a-z0-9][a-z0-9_.-]{0,63}$/, 'small letters, digits, - _ and ., at most 64'),
  class: FailureClass,
  /** RE2, looked for in each line of what the attempt printed. */
  pattern: z.string().min(1).max(PATTERN_MAX).optional(),
  exitCodes: z.array(z.int().min(0).max(255)).min(1).max(50).optional(),
  /** Codes of errors of Holdpoint's own. */
  errors: z.array(z.string().max(100)).min(1).max(50).optional(),
  /** What was tried: a label, or the beginning of one with `*` at its end. */
  uses: z.string().min(1).max(128).optional(),
});
export type ClassRule = z.infer<typeof ClassRule>;

/** Waits between attempts double from the first to the most. */
export const Backoff = z.object({
  firstMs: z.int().min(0).max(WAIT_MAX_MS),
  mostMs: z.int().min(0).max(WAIT_MAX_MS),
});
export type Backoff = z.infer<typeof Backoff>;

/**
 * What a repository says of its failures (`.holdpoint/recovery.toml`): its rules are looked at before the built-in ones, its
 * thresholds stand in place of theirs. Stored with the task, so that a later edit changes no task that runs.
 */
export const RecoveryRules = z.object({
  rules: z.array(ClassRule).max(100).optional(),
  /** After so many failures of a class a person is asked. */
  thresholds: z.partialRecord(FailureClass, z.int().min(1).max(100)).optional(),
  backoff: Backoff.optional(),
  /** So many attempts alike are a circle. */
  circular: z
    .object({
      attempts: z.int().min(2).max(100).optional(),
      /** From 0 to 1: how alike two approaches have to be. */
      similarity: z.number().min(0).max(1).optional(),
    })
    .optional(),
  /** How often a job may go on in a new session. */
  continues: z.int().min(0).max(100).optional(),
  /** So many jobs of the workflow that are given up within the window open its circuit. */
  circuit: z
    .object({
      failures: z.int().min(1).max(10_000),
      windowMs: z.int().min(1_000).max(WAIT_MAX_MS),
      coolDownMs: z.int().min(1_000).max(WAIT_MAX_MS),
    })
    .optional(),
});
export type RecoveryRules = z.infer<typeof RecoveryRules>;
