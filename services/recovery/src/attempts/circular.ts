import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import type { RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import { DEFAULT_SIMILARITY, similarity } from '../classification/similarity.ts';

/** Similar attempts that make a job circular. */
export const CIRCULAR_ATTEMPTS = 3;

/** Classes that another approach could fix. The others are transient, or need a person. */
const DEPENDS_ON_APPROACH: ReadonlySet<FailureClass> = new Set([
  'BROKEN_BUILD',
  'VERIFICATION_FAILED',
  'UNKNOWN',
]);

/** An attempt and its approach, as its agent reported it. */
export type AttemptSummary = { readonly attempt: number; readonly approach?: string | undefined };

/** An earlier attempt with the same approach as the last one. */
export type SameApproach = {
  readonly attempt: number;
  readonly approach: string;
  /** 0 to 1. */
  readonly similarity: number;
};

/** Attempts without a reported approach resemble none. */
const isStated = (approach: string | undefined): approach is string =>
  approach !== undefined && approach.trim() !== '';

/**
 * The earlier attempts with the same approach as the last one, if there are enough of them to call the job
 * circular. They need not be consecutive: alternating between two approaches is circular too. Errors do not
 * count: a check may fail with the same error under different approaches.
 */
export const sameApproaches = (
  failureClass: FailureClass,
  earlier: readonly AttemptSummary[],
  { approach: last }: AttemptSummary,
  { circular }: Pick<RecoveryRules, 'circular'> = {},
): readonly SameApproach[] | undefined => {
  if (!DEPENDS_ON_APPROACH.has(failureClass) || !isStated(last)) return undefined;
  const { attempts = CIRCULAR_ATTEMPTS, similarity: threshold = DEFAULT_SIMILARITY } = circular ?? {};
  const same = earlier.flatMap(({ attempt, approach }): readonly SameApproach[] => {
    if (!isStated(approach)) return [];
    const measured = similarity(approach, last);
    return measured >= threshold ? [{ attempt, approach, similarity: measured }] : [];
  });
  return same.length + 1 >= attempts ? same : undefined;
};
