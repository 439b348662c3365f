import { CallError } from '../session/call.ts';

const LOOK_EVERY_MS = 1_000;
const LOOKS_MAX = 120;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Polls until there is an answer; undefined after a timeout. Rethrows permanent refusals. */
export const pollUntilAnswered = async <Value>(check: () => Promise<Value>): Promise<Value | undefined> => {
  for (let checks = 0; checks < LOOKS_MAX; checks += 1) {
    try {
      return await check();
    } catch (error) {
      if (!(error instanceof CallError) || !error.unknown) throw error;
    }
    await pause(LOOK_EVERY_MS);
  }
  return undefined;
};
