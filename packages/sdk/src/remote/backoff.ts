import { hasCode } from '@holdpoint/contracts/values/errors';

const FIRST_MS = 200;
const LAST_MS = 10_000;

/** The wait after so many failures in a row. */
export const backoffMs = (failures: number): number =>
  Math.min(LAST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 10));

export const pause = (failures: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, backoffMs(failures));
  });

const TRIES = 7;

/** Repeats a request that may be repeated while Holdpoint is away, for about half a minute. */
export const whileAway = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
  for (let failures = 1; ; failures += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!hasCode(error, 'RUNTIME_UNAVAILABLE') || failures >= TRIES) throw error;
    }
    await pause(failures);
  }
};
