import { hasCode } from '@holdpoint/contracts/values/errors';
import type { Clock } from '@holdpoint/runtime/engine/clock';

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;
/** A longer outage fails the phase. */
const LIMIT_MS = 60_000;

/** Retries during an outage of the bus. Safe, because artifacts are addressed by their content. */
export const retryWhileUnavailable = async <Value>(
  clock: Clock,
  work: () => Promise<Value>,
): Promise<Value> => {
  const until = clock.now() + LIMIT_MS;
  for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
    try {
      return await work();
    } catch (error) {
      const isPassing = hasCode(error, 'RUNTIME_UNAVAILABLE');
      if (!isPassing || clock.now() + retryMs > until) throw error;
    }
    await new Promise<void>((resolve) => void clock.after(retryMs, resolve));
  }
};
