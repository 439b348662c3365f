import type { History } from '../history.ts';
import { holdFor } from '../nemesis.ts';
import type { Caller } from './caller.ts';

/** The whole list is read each time, and it may be long. */
const SWEEP_EVERY_MS = 15_000;
const PAGE = 200;
const PAGES_MAX = 20;

/**
 * Approves what is asked anew: an attempt that failed cleanly is asked about again, and nobody else expects that
 * question. When everybody else has gone, it approves whatever is still asked.
 */
export const startSweeper = (caller: Caller, prefix: string, history: History) => {
  const stopped = new AbortController();
  let alone = false;
  const page = async (after: string | undefined): Promise<string | undefined> => {
    const request = { status: 'pending', limit: PAGE, ...(after !== undefined && { after }) } as const;
    const found = await caller('sweeper', `${prefix}*`, 'approvals', 'list', request, { quiet: true });
    if (found.type !== 'ok') return undefined;
    const again = found.answer.items.filter(
      ({ task, revision }) => task.startsWith(prefix) && (alone || revision > 1),
    );
    await Promise.all(
      again.map(({ id, task }) =>
        caller('sweeper', task, 'approvals', 'decide', { id, decision: 'approve' }),
      ),
    );
    return found.answer.next;
  };
  const sweep = async (): Promise<void> => {
    let after: string | undefined;
    for (let i = 0; i < PAGES_MAX; i += 1) {
      after = await page(after);
      if (after === undefined) return;
    }
  };
  const sweeping = (async () => {
    while (!stopped.signal.aborted) {
      await sweep().catch((error: unknown) => history.add({ note: `a sweep broke off: ${String(error)}` }));
      await holdFor(SWEEP_EVERY_MS, stopped.signal);
    }
  })();
  return {
    takeOver: (): void => {
      alone = true;
    },
    stop: async (): Promise<void> => {
      stopped.abort();
      await sweeping;
    },
  };
};
