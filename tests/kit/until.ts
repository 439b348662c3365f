import { setTimeout as sleep } from 'node:timers/promises';

/** An error that asking again will not mend. */
export class Hopeless extends Error {
  override readonly name = 'Hopeless';
}

/** A bound for what hangs, far above what anything takes. Where something is made to hang on purpose, a shorter one will do. */
export const WITHIN_MS = Number(process.env['HOLDPOINT_TEST_WITHIN_SECONDS'] ?? 120) * 1_000;
const EVERY_MS = 25;

/**
 * Asks until there is an answer. An error is a reason to ask again, because services are killed on purpose here; only
 * `Hopeless` is not. The error of the last call is the cause of giving up.
 */
export const until = async <Answer>(
  what: string,
  ask: () => Promise<Answer | undefined> | Answer | undefined,
  withinMs: number = WITHIN_MS,
): Promise<Answer> => {
  const deadline = performance.now() + withinMs;
  let cause: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
      cause = undefined;
    } catch (error) {
      if (error instanceof Hopeless) throw error;
      cause = error;
    }
    if (performance.now() >= deadline)
      throw new Error(`${what}: not within ${withinMs / 1_000} s`, { cause });
    await sleep(EVERY_MS);
  }
};

/** Asks until it is true. */
export const untilTrue = (
  what: string,
  ask: () => Promise<boolean> | boolean,
  withinMs?: number,
): Promise<true> => until(what, async () => ((await ask()) ? true : undefined), withinMs);
