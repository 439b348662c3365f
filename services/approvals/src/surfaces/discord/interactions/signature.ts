import { type KeyObject, verify } from 'node:crypto';

/** Maximum clock difference, and maximum age of a request. */
export const SKEW_MAX_MS = 300_000;

const SIGNATURE = /^[0-9a-f]{128}$/i;
const TIMESTAMP = /^\d{1,12}$/;

/**
 * Whether the key signed exactly these bytes recently. `timestamp` is in epoch seconds, `now` in
 * milliseconds.
 */
export const isSigned = (
  key: KeyObject,
  {
    signature = '',
    timestamp = '',
    body,
  }: {
    readonly signature: string | undefined;
    readonly timestamp: string | undefined;
    readonly body: Uint8Array;
  },
  now: number,
): boolean => {
  if (!SIGNATURE.test(signature) || !TIMESTAMP.test(timestamp)) return false;
  if (Math.abs(now - Number(timestamp) * 1_000) > SKEW_MAX_MS) return false;
  return verify(null, Buffer.concat([Buffer.from(timestamp), body]), key, Buffer.from(signature, 'hex'));
};

/** A signature is valid for this long before and after its time. */
const KEPT_MS = 2 * SKEW_MAX_MS;
/** Far more interactions than in that time. Forgetting one early is harmless: a request is decided once. */
const KEPT_MAX = 10_000;

/** Returns whether an interaction was seen before. */
export const createReplayGuard = (): ((id: string, now: number) => boolean) => {
  const seen = new Map<string, number>();
  return (id, now) => {
    for (const [oldest, at] of seen) {
      if (now - at <= KEPT_MS && seen.size < KEPT_MAX) break;
      seen.delete(oldest);
    }
    if (seen.has(id)) return true;
    seen.set(id, now);
    return false;
  };
};
