import { isIPv6 } from 'node:net';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Logger } from '@holdpoint/runtime/observability/log';

/** Reasons for a failed authentication. */
export const FAILURES = ['missing', 'unknown', 'expired', 'revoked', 'oidc', 'scope'] as const;
export type Failure = (typeof FAILURES)[number];

/** More than a person mistypes in a minute. */
export const FAILURES_MAX = 20;
const WINDOW_MS = 60_000;
/** Sources remembered; the least recent failure is dropped first. */
const SOURCES_MAX = 10_000;
const LOG_EVERY_MS = 1_000;

/** A host controls its whole IPv6 /64 network. */
const networkOf = (source: string): string => {
  const plain = source.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (!isIPv6(plain)) return plain;
  const [before = '', after = ''] = plain.split('::');
  const groups = (part: string): readonly string[] => (part === '' ? [] : part.split(':'));
  const [left, right] = [groups(before), groups(after)];
  const gap = plain.includes('::') ? Array.from({ length: 8 - left.length - right.length }, () => '0') : [];
  return [...left, ...gap, ...right]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
};

export const tooManyAttempts = (waitMs: number): HoldpointError =>
  new HoldpointError('APPROVALS_TOO_MANY_ATTEMPTS', 'too many failed authentications: wait and try again', {
    details: { retryAfterSeconds: Math.ceil(waitMs / 1_000) },
  });

export type Attempts = ReturnType<typeof createAttempts>;

/**
 * Counts failed authentications by source. Credentials are never passed in. `now` is monotonic, in
 * milliseconds.
 */
export const createAttempts = (log: Logger, now: () => number = () => performance.now()) => {
  const sources = new Map<string, readonly number[]>();
  const counts = new Map<Failure, number>();
  let [loggedAt, unlogged] = [-Infinity, 0];

  const note = (source: string, kind: Failure, at: number): void => {
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    unlogged += 1;
    if (at - loggedAt < LOG_EVERY_MS) return;
    log.warn({ source, kind, failures: unlogged }, 'authentication failed');
    [loggedAt, unlogged] = [at, 0];
  };

  return {
    /** Counts a failure that is no guess, and so does not slow down its source. */
    noted: (source: string, kind: Failure): void => note(source, kind, now()),
    /**
     * Counts a failure. Returns the milliseconds that the source has to wait after too many of them. A valid
     * token never waits.
     */
    failed: (source: string, kind: Failure): number | undefined => {
      const at = now();
      note(source, kind, at);
      const network = networkOf(source);
      const recent = (sources.get(network) ?? []).filter((time) => at - time < WINDOW_MS);
      const [oldest] = recent;
      const wait =
        oldest !== undefined && recent.length >= FAILURES_MAX ? oldest + WINDOW_MS - at : undefined;
      sources.delete(network);
      sources.set(network, wait === undefined ? [...recent, at] : recent);
      const [longestAgo] = sources.keys();
      if (sources.size > SOURCES_MAX && longestAgo !== undefined) sources.delete(longestAgo);
      return wait;
    },
    /** Since the start, by kind. */
    counted: (): readonly { readonly labels: { readonly kind: Failure }; readonly value: number }[] =>
      FAILURES.map((kind) => ({ labels: { kind }, value: counts.get(kind) ?? 0 })),
    sources: (): number => sources.size,
  };
};
