import type { FailureClass } from '@holdpoint/contracts/failure-class';

export type Failure = { readonly at: number; readonly class: FailureClass };
export type Bucket = {
  readonly from: number;
  readonly counts: Readonly<Partial<Record<FailureClass, number>>>;
};

const SPANS_MS = [60_000, 300_000, 900_000, 3_600_000, 14_400_000, 86_400_000, 604_800_000] as const;
const BUCKETS_MAX = 24;

/** Failures counted by class in spans of equal length, chosen so that all of them fit into one chart. */
export const bucketsOf = (
  failures: readonly Failure[],
): { readonly spanMs: number; readonly buckets: readonly Bucket[] } => {
  const times = failures.map(({ at }) => at);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  if (!Number.isFinite(first)) return { spanMs: SPANS_MS[0], buckets: [] };
  const spanMs =
    SPANS_MS.find((span) => Math.floor(last / span) - Math.floor(first / span) < BUCKETS_MAX) ??
    Math.ceil((last - first + 1) / (BUCKETS_MAX - 1));
  const start = Math.floor(first / spanMs);
  const buckets = Array.from({ length: Math.floor(last / spanMs) - start + 1 }, (_, i) => ({
    from: (start + i) * spanMs,
    counts: {} as Partial<Record<FailureClass, number>>,
  }));
  for (const { at, class: failed } of failures) {
    const counts = buckets[Math.floor(at / spanMs) - start]?.counts;
    if (counts) counts[failed] = (counts[failed] ?? 0) + 1;
  }
  return { spanMs, buckets };
};
