import type { Bound, Point, Series } from './series.ts';

export type Seen = Pick<Series, 'name' | 'unit' | 'bound'> & { readonly value: number };

export const createSeriesBook = () => {
  const book = new Map<string, Omit<Series, 'points'> & { readonly points: Point[] }>();
  return {
    add: (seconds: number, { name, unit, bound, value }: Seen): void => {
      const series = book.get(name) ?? { name, unit, bound, points: [] };
      book.set(name, series);
      if (Number.isFinite(value)) series.points.push([Math.round(seconds * 10) / 10, value]);
    },
    all: (): readonly Series[] => [...book.values()],
  };
};

const MIB = 1_048_576;
const flat = (allowance: number): Bound => ({ kind: 'flat', allowance });

/** By unit: the fluctuation that is not growth. */
export const BOUNDS = {
  memory: flat(24 * MIB),
  handles: flat(10),
  tableBytes: flat(MIB),
  rows: flat(500),
  /** They wait for the next vacuum. */
  deadRows: flat(5_000),
  latency: flat(250),
  /** Includes single outages. */
  worstLatency: flat(5_000),
  shown: { kind: 'shown' },
} as const satisfies Readonly<Record<string, Bound>>;
