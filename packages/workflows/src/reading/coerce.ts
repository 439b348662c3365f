import { WAIT_MAX_MS } from '@holdpoint/contracts/workflow/workflow';

const YES: ReadonlySet<string> = new Set(['true', '1', 'yes', 'on']);
const NO: ReadonlySet<string> = new Set(['false', '0', 'no', 'off']);

/** A boolean as templates write it; ignores case and surrounding white space. */
export const parseBool = (text: string): boolean | undefined => {
  const word = text.trim().toLowerCase();
  if (YES.has(word)) return true;
  return NO.has(word) ? false : undefined;
};

export const BOOL = 'true, 1, yes, on, false, 0, no or off';

const U32_MAX = 4_294_967_295;

/** Decimal digits only. */
export const parseCount = (text: string): number | undefined => {
  const digits = text.trim();
  if (!/^\d{1,10}$/.test(digits)) return undefined;
  const count = Number(digits);
  return count <= U32_MAX ? count : undefined;
};

export const COUNT = `a whole number from 0 to ${String(U32_MAX)}`;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration such as `10m` in milliseconds; a bare number is milliseconds. */
export const parseTime = (text: string, leastMs = 1_000): number | undefined => {
  const [, digits, unit = 'ms'] = /^(\d{1,10})(ms|s|m|h|d)?$/.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  const ms = Number(digits) * (UNITS[unit] ?? 1);
  return ms >= leastMs && ms <= WAIT_MAX_MS ? ms : undefined;
};

export const TIME = 'a time such as 30s, 10m, 2h or milliseconds, from one second to 30 days';

export const RETRY_MODES = ['never', 'on_failure', 'until_gate'] as const;
export type RetryMode = (typeof RETRY_MODES)[number];

export const parseRetryMode = (text: string): RetryMode | undefined =>
  RETRY_MODES.find((mode) => mode === text.trim());
