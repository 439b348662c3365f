import {
  type Backoff,
  RECOVERY_DEFAULTS,
  type RecoveryRules,
} from '@holdpoint/contracts/workflow/recovery-rules';
import type { FailureClass, VerdictKind } from '@holdpoint/contracts/workflow/failure-class';

/** Increase it with every change of the table; verdicts name it. */
export const TABLE_VERSION = 3;

export type Row = {
  readonly name: string;
  readonly class: FailureClass;
  /** Failures of the class that the row covers: fewer than the threshold, or up to it. All when absent. */
  readonly untilThreshold?: 'before' | 'through';
  /** Only when a good commit exists. */
  readonly goodCommit?: true;
  /** Only when the job blocks the critical path of its task. */
  readonly critical?: true;
  readonly verdict: VerdictKind;
  readonly backoff?: Backoff;
  readonly reason: string;
};

/** Failures of one class in one job since its last success. A repository can set others. */
export const THRESHOLDS: Readonly<Record<FailureClass, number>> = {
  VERIFICATION_FAILED: 3,
  UNKNOWN: 2,
  BROKEN_BUILD: 1,
  TRANSIENT: 5,
  CONTEXT_EXHAUSTED: RECOVERY_DEFAULTS.continues,
  WORKER_CRASH: 3,
  CIRCULAR_FIX: 1,
  EFFECT_IN_DOUBT: 1,
  MISCONFIGURED: 1,
};

/** The first row of the class that applies decides. */
export const TABLE: readonly Row[] = [
  {
    name: 'circle-critical',
    class: 'CIRCULAR_FIX',
    critical: true,
    verdict: 'escalate',
    reason: 'several attempts took the same approach',
  },
  {
    name: 'circle',
    class: 'CIRCULAR_FIX',
    verdict: 'skip',
    reason: 'several attempts took the same approach',
  },
  {
    name: 'build',
    class: 'BROKEN_BUILD',
    untilThreshold: 'through',
    goodCommit: true,
    verdict: 'rollback',
    reason: 'the build is broken, and a good commit exists',
  },
  {
    name: 'build-for-good',
    class: 'BROKEN_BUILD',
    verdict: 'escalate',
    reason: 'the build is broken, and a rollback did not help or no good commit exists',
  },
  {
    name: 'verification',
    class: 'VERIFICATION_FAILED',
    untilThreshold: 'before',
    verdict: 'retry',
    reason: 'a check failed; a different approach may pass it',
  },
  {
    name: 'verification-critical',
    class: 'VERIFICATION_FAILED',
    critical: true,
    verdict: 'escalate',
    reason: 'the check failed as often as the limit allows',
  },
  {
    name: 'verification-again',
    class: 'VERIFICATION_FAILED',
    verdict: 'skip',
    reason: 'the check failed as often as the limit allows',
  },
  {
    name: 'context',
    class: 'CONTEXT_EXHAUSTED',
    untilThreshold: 'through',
    verdict: 'continue',
    reason: 'the job needs more than one session',
  },
  {
    name: 'context-again',
    class: 'CONTEXT_EXHAUSTED',
    verdict: 'escalate',
    reason: 'the job needs more sessions than the limit allows',
  },
  {
    name: 'transient',
    class: 'TRANSIENT',
    untilThreshold: 'before',
    verdict: 'retry',
    backoff: RECOVERY_DEFAULTS.backoff,
    reason: 'transient failure',
  },
  {
    name: 'transient-lasting',
    class: 'TRANSIENT',
    verdict: 'escalate',
    reason: 'the transient failure lasted through all attempts',
  },
  {
    name: 'unknown',
    class: 'UNKNOWN',
    untilThreshold: 'before',
    verdict: 'retry',
    backoff: { firstMs: 1_000, mostMs: 1_000 },
    reason: 'unknown failure, retried once',
  },
  {
    name: 'unknown-again',
    class: 'UNKNOWN',
    verdict: 'escalate',
    reason: 'unknown failure again',
  },
  {
    name: 'crash',
    class: 'WORKER_CRASH',
    untilThreshold: 'before',
    verdict: 'retry',
    backoff: { firstMs: 1_000, mostMs: 10_000 },
    reason: 'its worker was lost, and its work can be repeated',
  },
  {
    name: 'crash-loop',
    class: 'WORKER_CRASH',
    verdict: 'escalate',
    reason: 'its worker was lost repeatedly',
  },
  {
    name: 'in-doubt',
    class: 'EFFECT_IN_DOUBT',
    verdict: 'escalate',
    reason: 'the effect is in doubt; a person has to check',
  },
  {
    name: 'misconfigured',
    class: 'MISCONFIGURED',
    verdict: 'escalate',
    reason: 'the arguments or the settings are wrong, and a repeat changes nothing',
  },
];

/** Input of the table. */
export type Situation = {
  readonly class: FailureClass;
  /** Failures of this class in this job since its last success, including this one. */
  readonly failures: number;
  readonly hasGoodCommit: boolean;
  /** Whether the job blocks the critical path of its task. */
  readonly isCritical?: boolean;
  readonly rules?: RecoveryRules | undefined;
};

const thresholdOf = (failureClass: FailureClass, rules: RecoveryRules | undefined): number =>
  (failureClass === 'CONTEXT_EXHAUSTED' ? rules?.continues : undefined) ??
  rules?.thresholds?.[failureClass] ??
  THRESHOLDS[failureClass];

const applies = (
  { untilThreshold: up, goodCommit, critical }: Row,
  { failures, hasGoodCommit, isCritical }: Situation,
  threshold: number,
): boolean => {
  if (goodCommit === true && !hasGoodCommit) return false;
  if (critical === true && isCritical !== true) return false;
  if (up === undefined) return true;
  return up === 'before' ? failures < threshold : failures <= threshold;
};

/** The row that decides. The last row of each class has no condition, so there always is one. */
export const rowFor = (situation: Situation): Row => {
  const threshold = thresholdOf(situation.class, situation.rules);
  const row = TABLE.find((each) => each.class === situation.class && applies(each, situation, threshold));
  if (row === undefined) throw new Error(`the verdict table has no last row for ${situation.class}`);
  return row;
};

/** Delay before a retry: it doubles each time. */
export const delayMsOf = (row: Row, failures: number, rules?: RecoveryRules): number => {
  const backoff = row.backoff === undefined ? undefined : (rules?.backoff ?? row.backoff);
  return backoff === undefined ? 0 : Math.min(backoff.firstMs * 2 ** (failures - 1), backoff.mostMs);
};
