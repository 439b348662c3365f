import { setTimeout as sleep } from 'node:timers/promises';

/** An error that a repeat will not fix. */
export class Hopeless extends Error {
  override readonly name = 'Hopeless';
}

/**
 * A bound for hangs, far above normal durations. A test that causes a hang on purpose passes a shorter
 * one.
 */
export const WITHIN_MS = Number(process.env['HOLDPOINT_TEST_WITHIN_SECONDS'] ?? 120) * 1_000;
const EVERY_MS = 25;

/**
 * Repeats a call until it has an answer. Errors are repeated too, because tests kill services on purpose;
 * only `Hopeless` ends the wait. The error of the last call is the cause of the timeout.
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

/** Repeats a call until it is true. */
export const untilTrue = (
  what: string,
  ask: () => Promise<boolean> | boolean,
  withinMs?: number,
): Promise<true> => until(what, async () => ((await ask()) ? true : undefined), withinMs);
