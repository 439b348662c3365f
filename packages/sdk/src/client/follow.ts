import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { hasCode } from '@holdpoint/contracts/values/errors';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { ClientPort } from './port.ts';

/** Wakes a waiter; a ring without a waiter is kept. */
const createBell = (clock: Pick<Clock, 'after'>) => {
  let isRung = false;
  let wake: (() => void) | undefined;
  return {
    ring: (): void => {
      isRung = true;
      wake?.();
    },
    wait: async (withinMs: number): Promise<void> => {
      if (!isRung)
        await new Promise<void>((resolve) => {
          const callOff = clock.after(withinMs, resolve);
          wake = () => {
            callOff();
            resolve();
          };
        });
      isRung = false;
      wake = undefined;
    },
  };
};

/** Polling interval while the bus is silent, for lost messages. */
const ASK_EVERY_MS = 3_000;

const isUnavailable = (error: unknown): boolean => hasCode(error, 'RUNTIME_UNAVAILABLE');

const PAGE = 500;

/** The events of a task after a version. */
export const historyOf = async (
  { ask }: Pick<ClientPort, 'ask'>,
  id: TaskId,
  after = 0,
): Promise<readonly HistoryEntry[]> => {
  const found: HistoryEntry[] = [];
  for (let more = true; more;) {
    const from = found.at(-1)?.version ?? after;
    const page = await ask('orchestrator', 'history', { id, after: from, limit: PAGE });
    found.push(...page.events);
    more = page.more === true && page.events.length > 0;
  }
  return found;
};

/**
 * Every event of a task, once and in order, from the first one on. Never ends by itself. Continues after an
 * outage of a service; throws for an unknown task.
 */
export async function* followTask(
  port: ClientPort,
  id: TaskId,
): AsyncGenerator<HistoryEntry, never, undefined> {
  const bell = createBell(port.clock);
  let version = 0;

  const missing = async (): Promise<readonly HistoryEntry[]> => {
    try {
      return await historyOf(port, id, version);
    } catch (error) {
      // The first answer tells whether the task exists; a later outage may pass.
      if (version === 0 || !isUnavailable(error)) throw error;
      return [];
    }
  };

  const stop = await port.watch(id, bell.ring);
  try {
    for (;;) {
      for (const entry of await missing()) {
        if (entry.version !== version + 1) continue;
        version = entry.version;
        yield entry;
      }
      await bell.wait(ASK_EVERY_MS);
    }
  } finally {
    stop();
  }
}
