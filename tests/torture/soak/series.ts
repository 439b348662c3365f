/** Seconds since the start of the load, and the value. */
export type Point = readonly [seconds: number, value: number];

/** How a series is judged. */
export type Bound =
  /** It has to stay flat within this allowance. */
  | { readonly kind: 'flat'; readonly allowance: number }
  /** It may grow up to this limit. */
  | { readonly kind: 'limit'; readonly most: number }
  /** Shown and not judged. */
  | { readonly kind: 'shown' };

export type Series = {
  readonly name: string;
  readonly unit: 'bytes' | 'rows' | 'handles' | 'ms' | 'tasks/s';
  readonly bound: Bound;
  readonly points: readonly Point[];
};

/** A least-squares line. */
export type Line = {
  readonly perSecond: number;
  /** Its values at the first and the last point. */
  readonly from: number;
  readonly to: number;
  /** Standard error of the rise from the first to the last point. */
  readonly noise: number;
};

export type Finding = 'flat' | 'grows' | 'within its limit' | 'over its limit' | 'too few' | 'shown';
export type AssessedSeries = Omit<Series, 'points'> & {
  readonly finding: Finding;
  readonly line: Line | undefined;
  readonly most: number;
  readonly samples: number;
};

/** Fewer points show no trend. */
export const POINTS_MIN = 6;
/** A smaller relative rise in the second half counts as flat. */
export const SHARE = 0.1;
/** A rise below this many standard errors may be chance. */
const ERRORS = 3;

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

export const fitLine = (points: readonly Point[]): Line | undefined => {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || points.length < POINTS_MIN) return undefined;
  const [middle, level] = [mean(points.map(([t]) => t)), mean(points.map(([, value]) => value))];
  const spread = points.reduce((sum, [t]) => sum + (t - middle) ** 2, 0);
  if (spread === 0) return undefined;
  const perSecond = points.reduce((sum, [t, value]) => sum + (t - middle) * (value - level), 0) / spread;
  const at = (t: number): number => level + perSecond * (t - middle);
  const left = points.reduce((sum, [t, value]) => sum + (value - at(t)) ** 2, 0);
  const noise = Math.sqrt(left / (points.length - 2) / spread) * (last[0] - first[0]);
  return { perSecond, from: at(first[0]), to: at(last[0]), noise };
};

/** Caches, pools and tables fill in the first half; that is not growth. */
export const secondHalf = (points: readonly Point[], durationSeconds: number): readonly Point[] =>
  points.filter(([t]) => t >= durationSeconds / 2);

const findingOf = (bound: Bound, line: Line | undefined, most: number): Finding => {
  switch (bound.kind) {
    case 'shown':
      return 'shown';
    case 'limit':
      return most <= bound.most ? 'within its limit' : 'over its limit';
    case 'flat': {
      if (line === undefined) return 'too few';
      const rise = line.to - line.from;
      const allowed = Math.max(bound.allowance, SHARE * Math.abs(line.from));
      return rise > allowed && rise > ERRORS * line.noise ? 'grows' : 'flat';
    }
  }
};

export const assess = ({ points, ...series }: Series, durationSeconds: number): AssessedSeries => {
  const late = secondHalf(points, durationSeconds);
  const line = fitLine(late);
  const most = Math.max(...points.map(([, value]) => value));
  return { ...series, finding: findingOf(series.bound, line, most), line, most, samples: late.length };
};

export const isBad = ({ finding }: AssessedSeries): boolean =>
  finding === 'grows' || finding === 'over its limit';
