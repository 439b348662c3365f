import { type ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import type { ClientPort } from './port.ts';

const WAITS_MS = [100, 250, 500, 1_000, 2_000, 4_000, 4_000] as const;

/** Retries for a while. Only for requests that are safe to repeat. */
export const retryUnavailable = async <Value>(
  { clock }: Pick<ClientPort, 'clock'>,
  work: () => Promise<Value>,
  passing: readonly ErrorCode[] = ['RUNTIME_UNAVAILABLE'],
): Promise<Value> => {
  for (const waitMs of WAITS_MS) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof HoldpointError) || !passing.includes(error.code)) throw error;
    }
    await new Promise<void>((resolve) => void clock.after(waitMs, resolve));
  }
  return work();
};
