import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import type { RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import { DEFAULT_SIMILARITY, similarity } from '../classification/similarity.ts';

/** So many attempts alike are a circle. */
export const CIRCULAR_ATTEMPTS = 3;
/** With the very same error, approaches need be this much less alike. */
const SAME_ERROR_FACTOR = 0.7;

/** Where another approach could help: what passes by itself, or wants a person, is repeated as it is. */
const DEPENDS_ON_APPROACH: ReadonlySet<FailureClass> = new Set([
  'BROKEN_BUILD',
  'VERIFICATION_FAILED',
  'UNKNOWN',
]);

/** What an attempt tried, and what it ended with. */
export type AttemptSummary = {
  readonly approach?: string | undefined;
  readonly fingerprint?: string | undefined;
};

/** An attempt that says nothing of its way is like no other. */
const isStated = (approach: string | undefined): approach is string =>
  approach !== undefined && approach.trim() !== '';

const isSame = (one: AttemptSummary, other: AttemptSummary, threshold: number): boolean => {
  if (!isStated(one.approach) || !isStated(other.approach)) return false;
  const sameError = one.fingerprint !== undefined && one.fingerprint === other.fingerprint;
  return similarity(one.approach, other.approach) >= threshold * (sameError ? SAME_ERROR_FACTOR : 1);
};

/**
 * How many attempts took the way of the last one, it among them, if they are so many that the job goes round in circles. They
 * need not follow each other: to alternate between two ways is a circle too.
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
