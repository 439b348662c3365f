import type { AssessFailure, FailureClass, VerdictKind } from '@holdpoint/contracts/recovery';

/** Raised with every change of what the table says; every verdict names it. */
export const TABLE_VERSION = 1;

export type Row = {
  readonly name: string;
  readonly class: FailureClass;
  /** Applies while fewer attempts than this have failed. */
  readonly below?: number;
  readonly verdict: VerdictKind;
  readonly backoff?: { readonly firstMs: number; readonly mostMs: number };
  readonly reason: string;
};

/** Read from the top; the first row of the class that still applies decides. */
export const TABLE: readonly Row[] = [
  {
    name: 'in-doubt',
    class: 'EFFECT_IN_DOUBT',
    verdict: 'escalate',
    reason: 'nobody can know whether the effect happened; a person has to look',
  },
  {
    name: 'transient',
    class: 'TRANSIENT',
    below: 5,
    verdict: 'retry',
    backoff: { firstMs: 1_000, mostMs: 60_000 },
    reason: 'the failure is of a kind that passes',
  },
  {
    name: 'transient-lasting',
    class: 'TRANSIENT',
    verdict: 'escalate',
    reason: 'it did not pass in five attempts',
  },
  {
    name: 'unknown',
    class: 'UNKNOWN',
    below: 2,
    verdict: 'retry',
    backoff: { firstMs: 1_000, mostMs: 1_000 },
    reason: 'unknown failure, tried once more',
  },
  {
    name: 'unknown-again',
    class: 'UNKNOWN',
    verdict: 'escalate',
    reason: 'unknown failure, for the second time',
  },
];

/** Errors that pass by themselves, and prove that nothing happened. */
const TRANSIENT = new Set([
  'EXECUTOR_JOURNAL_UNAVAILABLE',
  // The target was asked. What a person says of it never comes here: that ends the node.
  'EXECUTOR_NOT_APPLIED',
  'EXECUTOR_TARGET_UNAVAILABLE',
  'RUNTIME_UNAVAILABLE',
]);

export const classify = ({ outcome, error }: Pick<AssessFailure, 'outcome' | 'error'>): FailureClass => {
  if (outcome === 'in_doubt') return 'EFFECT_IN_DOUBT';
  return TRANSIENT.has(error.code) ? 'TRANSIENT' : 'UNKNOWN';
};

/** The row that decides on a failure of this class, when `failures` attempts have failed, this one among them. */
export const rowFor = (failureClass: FailureClass, failures: number): Row => {
  const row = TABLE.find(({ class: named, below = Infinity }) => named === failureClass && failures < below);
  // Classes that nothing here produces yet have no row of their own; a person is the answer that is never wrong.
  return (
    row ?? { name: 'no-row', class: failureClass, verdict: 'escalate', reason: `no rule for ${failureClass}` }
  );
};

export const delayMsOf = ({ backoff }: Row, failures: number): number =>
  backoff === undefined ? 0 : Math.min(backoff.firstMs * 2 ** (failures - 1), backoff.mostMs);
