/** Median, 95th and 99th percentile in milliseconds with one decimal. */
export type Percentiles = { readonly p50: number; readonly p95: number; readonly p99: number };

export const percentiles = (durationsMs: readonly number[]): Percentiles => {
  const sorted = durationsMs.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN, 1);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
};

export const round = (value: number, digits: number): number => Number(value.toFixed(digits));
