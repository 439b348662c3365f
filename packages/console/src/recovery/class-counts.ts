import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import type { FailureBucket, FailureCount } from '@holdpoint/contracts/recovery/views';

type Span = { readonly text: string; readonly bucket: FailureBucket; readonly buckets: number };

/** Range of the chart: whole hours or days, including the current one. */
export const SPANS = {
  day: { text: 'Day', bucket: 'hour', buckets: 24 },
  week: { text: 'Week', bucket: 'day', buckets: 7 },
  month: { text: 'Month', bucket: 'day', buckets: 31 },
} as const satisfies Readonly<Record<string, Span>>;
export type SpanName = keyof typeof SPANS;

const SIZE_MS: Readonly<Record<FailureBucket, number>> = { hour: 3_600_000, day: 86_400_000 };

export type Range = { readonly from: number; readonly to: number; readonly bucket: FailureBucket };

/** The query. Days are UTC days, as in the store. */
export const rangeOf = (name: SpanName, now: number): Range => {
  const { bucket, buckets } = SPANS[name];
  const size = SIZE_MS[bucket];
  const to = (Math.floor(now / size) + 1) * size;
  return { from: to - buckets * size, to, bucket };
};

export type Bar = {
  readonly from: number;
  readonly counts: Readonly<Partial<Record<FailureClass, number>>>;
  readonly all: number;
};

/** One bar per bucket, including empty ones: gaps would distort the time axis. */
export const barsOf = ({ from, to, bucket }: Range, items: readonly FailureCount[]): readonly Bar[] => {
  const size = SIZE_MS[bucket];
  return Array.from({ length: Math.max(0, Math.ceil((to - from) / size)) }, (_, i) => {
    const start = from + i * size;
    const own = items.filter(({ at }) => at === start);
    return {
      from: start,
      counts: Object.fromEntries(own.map((item) => [item.class, item.count])),
      all: own.reduce((sum, { count }) => sum + count, 0),
    };
  });
};

/** The total of one class. */
export const sumOf = (bars: readonly Bar[], name: FailureClass): number =>
  bars.reduce((sum, { counts }) => sum + (counts[name] ?? 0), 0);
