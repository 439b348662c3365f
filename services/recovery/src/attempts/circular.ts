import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import type { RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import { DEFAULT_SIMILARITY, similarity } from '../classification/similarity.ts';

/** Similar attempts that make a job circular. */
export const CIRCULAR_ATTEMPTS = 3;
/** The same error lowers the required similarity of approaches. */
const SAME_ERROR_FACTOR = 0.7;

/** Classes that another approach could fix. The others are transient, or need a person. */
const DEPENDS_ON_APPROACH: ReadonlySet<FailureClass> = new Set([
  'BROKEN_BUILD',
  'VERIFICATION_FAILED',
  'UNKNOWN',
]);

/** Approach and error of an attempt. */
export type AttemptSummary = {
  readonly approach?: string | undefined;
  readonly fingerprint?: string | undefined;
};

/** Attempts without a reported approach resemble none. */
const isStated = (approach: string | undefined): approach is string =>
  approach !== undefined && approach.trim() !== '';

const isSame = (one: AttemptSummary, other: AttemptSummary, threshold: number): boolean => {
  if (!isStated(one.approach) || !isStated(other.approach)) return false;
  const sameError = one.fingerprint !== undefined && one.fingerprint === other.fingerprint;
  return similarity(one.approach, other.approach) >= threshold * (sameError ? SAME_ERROR_FACTOR : 1);
};

/**
 * The number of attempts with the same approach as the last one, including it, if there are enough of them to
 * call the job circular. They need not be consecutive: alternating between two approaches is circular too.
 */
export const circularAttempts = (
  failureClass: FailureClass,
  earlier: readonly AttemptSummary[],
  last: AttemptSummary,
  { circular }: Pick<RecoveryRules, 'circular'> = {},
): number | undefined => {
  if (!DEPENDS_ON_APPROACH.has(failureClass)) return undefined;
  const { attempts = CIRCULAR_ATTEMPTS, similarity: threshold = DEFAULT_SIMILARITY } = circular ?? {};
  const count = 1 + earlier.filter((each) => isSame(each, last, threshold)).length;
  return isStated(last.approach) && count >= attempts ? count : undefined;
};
