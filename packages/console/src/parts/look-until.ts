import { CallError } from '../session/call.ts';

const LOOK_EVERY_MS = 1_000;
const LOOKS_MAX = 120;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Polls until there is an answer; undefined after a timeout. Rethrows permanent refusals. */
export const lookUntilAnswered = async <Value>(look: () => Promise<Value>): Promise<Value | undefined> => {
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    try {
      return await look();
    } catch (error) {
      if (!(error instanceof CallError) || !error.unknown) throw error;
    }
    await pause(LOOK_EVERY_MS);
  }
  return undefined;
};
