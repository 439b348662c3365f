import { z } from 'zod';
import { FailureClass } from './failure-class.ts';
import { WAIT_MAX_MS } from './side-effect.ts';

/** Maximum characters of a pattern, in the linear-time syntax of RE2. */
const PATTERN_MAX = 1_000;

/** Matches failures; all fields must hold. */
export const ClassRule = z.object({
  id: z.string().regex(/^[a-z0-9][a-z0-9_.-]{0,63}$/, 'lower-case letters, digits, - _ and ., at most 64'),
  class: FailureClass,
  /** RE2, matched against each line of the output. */
  pattern: z.string().min(1).max(PATTERN_MAX).optional(),
  exitCodes: z.array(z.int().min(0).max(255)).min(1).max(50).optional(),
  /** Holdpoint's own error codes. */
  errors: z.array(z.string().max(100)).min(1).max(50).optional(),
  /** Capability label, or a prefix that ends in `*`. */
  uses: z.string().min(1).max(128).optional(),
});
export type ClassRule = z.infer<typeof ClassRule>;

/** Exponential delay, from the first to the maximum. */
export const Backoff = z.object({
  firstMs: z.int().min(0).max(WAIT_MAX_MS),
  mostMs: z.int().min(0).max(WAIT_MAX_MS),
});
export type Backoff = z.infer<typeof Backoff>;

/** The settings of a repository that writes none. */
export const RECOVERY_DEFAULTS = {
  backoff: { firstMs: 1_000, mostMs: 60_000 },
  /** New sessions of a job. */
  continues: 5,
  circuit: { failures: 5, windowMs: 600_000, coolDownMs: 300_000 },
} as const;

/**
 * Recovery settings of a repository (`.holdpoint/recovery.toml`): its rules precede the built-in ones, its
 * thresholds replace them. Stored with the task, so that later edits do not affect it.
 */
export const RecoveryRules = z.object({
  rules: z.array(ClassRule).max(100).optional(),
  /** Failures of a class before an operator is asked. */
  thresholds: z.partialRecord(FailureClass, z.int().min(1).max(100)).optional(),
  backoff: Backoff.optional(),
  /** Number of similar attempts that count as a circle. */
  circular: z
    .object({
      attempts: z.int().min(2).max(100).optional(),
      /** Required similarity of approaches, 0 to 1. */
      similarity: z.number().min(0).max(1).optional(),
    })
    .optional(),
  /** Maximum number of sessions of a job. */
  continues: z.int().min(0).max(100).optional(),
  /** Number of given-up jobs within the window that opens the workflow's circuit. */
  circuit: z
    .object({
      failures: z.int().min(1).max(10_000),
      windowMs: z.int().min(1_000).max(WAIT_MAX_MS),
      coolDownMs: z.int().min(1_000).max(WAIT_MAX_MS),
    })
    .optional(),
});
export type RecoveryRules = z.infer<typeof RecoveryRules>;
