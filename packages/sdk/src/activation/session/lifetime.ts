import type { PhaseAborted } from './abort.ts';

/** What never comes: whoever awaits it is left behind, and forgotten. One for all would keep whatever has ever awaited it. */
const never = (): Promise<never> => new Promise(() => undefined);

/** How long what a phase does still counts. It ends by an abort, which is told, or by being abandoned, which is not. */
export type Lifetime = {
  readonly signal: AbortSignal;
  readonly aborted: () => PhaseAborted | undefined;
  readonly abort: (reason: PhaseAborted) => void;
  /** Whatever it still waits for never comes. */
  readonly abandon: () => void;
  /** What is awaited, unless the life ends before it: then a rejection with the reason, or nothing at all. */
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
      // A phase that is broken off may have begun what it does not wait for yet: that must not end the process.
      during.catch(() => undefined);
      return during;
    },
  };
};
