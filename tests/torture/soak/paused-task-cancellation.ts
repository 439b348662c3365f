import { holdFor } from '../fault-runner.ts';
import type { Caller } from '../workload/caller.ts';

const LOOK_EVERY_MS = 3_000;
const PAGE = 100;

/** Cancels tasks that wait for a person: an effect in doubt would otherwise stay open. */
export const startAttendant = (caller: Caller, say: (line: string) => void) => {
  const stopped = new AbortController();
  let gaveUp = 0;
  const look = async (): Promise<void> => {
    const request = { phase: 'paused', limit: PAGE } as const;
    const found = await caller('attendant', 'paused', 'orchestrator', 'list', request, { quiet: true });
    if (found.type !== 'ok') return;
    for (const { id } of found.answer.items) {
      const ended = await caller('attendant', id, 'orchestrator', 'cancel', { id, by: 'attendant' });
      if (ended.type === 'ok') gaveUp += 1;
    }
  };
  const looking = (async () => {
    while (!stopped.signal.aborted) {
      await look().catch((error: unknown) => say(`the attendant was held up: ${String(error)}`));
      await holdFor(LOOK_EVERY_MS, stopped.signal);
    }
  })();
  return {
    gaveUp: (): number => gaveUp,
    /** One last time. */
    stop: async (): Promise<void> => {
      stopped.abort();
      await looking;
      await look();
    },
  };
};
