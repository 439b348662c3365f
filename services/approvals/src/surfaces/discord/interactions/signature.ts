import { type KeyObject, verify } from 'node:crypto';

/** How far the clocks may be apart, and how old a request may be. */
export const SKEW_MAX_MS = 300_000;

const SIGNATURE = /^[0-9a-f]{128}$/i;
const TIMESTAMP = /^\d{1,12}$/;

/** Whether these very bytes were signed with the key, not long ago. `timestamp` is in epoch seconds, `now` in milliseconds. */
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

/** A signature is good for as long as its time is near, before and after. */
const KEPT_MS = 2 * SKEW_MAX_MS;
/** Far more than people press in that time. What is forgotten too early changes nothing either: it is decided once. */
const KEPT_MAX = 10_000;

/** Says of each interaction whether it was seen before. */
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
