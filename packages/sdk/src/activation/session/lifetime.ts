import type { PhaseAborted } from './abort.ts';

/** A new promise each time: a shared one would keep all its waiters in memory. */
const never = (): Promise<never> => new Promise(() => undefined);

/**
 * The time in which the work of a phase counts. It ends by an abort, which the phase notices, or silently
 * when abandoned.
 */
export type Lifetime = {
  readonly signal: AbortSignal;
  readonly aborted: () => PhaseAborted | undefined;
  readonly abort: (reason: PhaseAborted) => void;
  /** Pending calls never resolve. */
  readonly abandon: () => void;
  /**
   * Awaits work unless the lifetime ends first: after an abort it rejects with the reason, after `abandon` it
   * never resolves.
   */
  readonly during: <Value>(work: () => Value | Promise<Value>) => Promise<Value>;
};

export const createLifetime = (): Lifetime => {
  const controller = new AbortController();
  let reason: PhaseAborted | undefined;
  let isAbandoned = false;
  let fail: (error: PhaseAborted) => void = () => undefined;
  const failure = new Promise<never>((_resolve, reject) => (fail = reject));
  failure.catch(() => undefined);

  const check = async (): Promise<void> => {
    if (isAbandoned) await never();
    if (reason !== undefined) throw reason;
  };

  const lasting = async <Value>(work: () => Value | Promise<Value>): Promise<Value> => {
    await check();
    try {
      const value = await Promise.race([work(), failure]);
      if (isAbandoned) await never();
      return value;
    } catch (error) {
      if (isAbandoned) await never();
      throw error;
    }
  };

  return {
    signal: controller.signal,
    aborted: () => reason,
    abort: (cause) => {
      if (reason !== undefined || isAbandoned) return;
      reason = cause;
      controller.abort(cause);
      fail(cause);
    },
    abandon: () => {
      isAbandoned = true;
    },
    during: (work) => {
      const during = lasting(work);
      // The phase may not await this yet, and an unhandled rejection would end the process.
      during.catch(() => undefined);
      return during;
    },
  };
};
