import { setTimeout as sleep } from 'node:timers/promises';

export type PollOptions = {
  readonly timeoutMs: number;
  readonly everyMs?: number;
  /** The awaited condition, for the message of a timeout. */
  readonly what: string;
  /** Whether to ask again after this error; by default after any. */
  readonly passes?: (error: unknown) => boolean;
};

/** Asks until the answer is not undefined. The last error that `ask` threw is the cause of giving up. */
export const poll = async <Answer>(
  ask: () => Promise<Answer | undefined>,
  { timeoutMs, everyMs = 50, what, passes = () => true }: PollOptions,
): Promise<Answer> => {
  const deadline = performance.now() + timeoutMs;
  let cause: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
    } catch (error) {
      if (!passes(error)) throw error;
      cause = error;
    }
    if (performance.now() >= deadline)
      throw new Error(`${what}: not within ${timeoutMs / 1_000} s`, { cause });
    await sleep(everyMs);
  }
};
