const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const;

/** A duration in its two largest units: `2 h 5 min`. */
export const span = (ms: number): string => {
  const whole = Math.max(0, Math.round(ms / 1_000) * 1_000);
  const at = UNITS.findIndex(([unit]) => whole >= unit);
  const [first, second] = [UNITS[at], UNITS[at + 1]];
  if (first === undefined) return '0 s';
  const [unit, name] = first;
  const count = Math.floor(whole / unit);
  const rest = second === undefined ? 0 : Math.floor((whole % unit) / second[0]);
  return rest === 0 || second === undefined
    ? `${String(count)} ${name}`
    : `${String(count)} ${name} ${String(rest)} ${second[1]}`;
};

/** A time in the reader's time zone. */
export const instant = (ms: number): string =>
  new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' }).format(ms);

/** A UTC day: the same in every time zone. */
export const utcDay = (ms: number): string =>
  new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' }).format(ms);

/** A size in bytes, with a unit. */
export const size = (bytes: number): string => {
  if (bytes < 1_024) return `${String(bytes)} B`;
  const exponent = Math.min(4, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1_024 ** exponent).toFixed(1)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][exponent] ?? ''}`;
};
