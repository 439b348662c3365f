import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
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

const isUnavailable = (error: unknown): boolean =>
  error instanceof HoldpointError && error.code === 'RUNTIME_UNAVAILABLE';

export const historyOf = async (
  { ask }: Pick<ClientPort, 'ask'>,
  id: TaskId,
): Promise<readonly HistoryEntry[]> => (await ask('orchestrator', 'history', { id })).events;

/**
 * Every event of a task, once and in order, from the first one on. Never ends by itself. Continues after an
 * outage of a service; throws for an unknown task.
 */
export async function* followTask(
  port: ClientPort,
  id: TaskId,
): AsyncGenerator<HistoryEntry, never, undefined> {
  const bell = createBell(port.clock);
  const early = new Map<number, HistoryEntry>();
  let version = 0;

  /** The stored events after `version`. Compares versions first, because a history may be long. */
  const missing = async (): Promise<readonly HistoryEntry[]> => {
    try {
      if (version > 0 && (await port.ask('orchestrator', 'get', { id })).version <= version) return [];
      return await historyOf(port, id);
    } catch (error) {
      // The first answer tells whether the task exists; a later outage may pass.
      if (version === 0 || !isUnavailable(error)) throw error;
      return [];
    }
  };

  const deaf = await port.watch(id, (entry) => {
    if (entry !== undefined) early.set(entry.version, entry);
    bell.ring();
  });
  try {
    for (;;) {
      for (const entry of early.has(version + 1) ? [] : await missing()) {
        if (entry.version !== version + 1) continue;
        version = entry.version;
        yield entry;
      }
      for (let next = early.get(version + 1); next !== undefined; next = early.get(version + 1)) {
        version = next.version;
        yield next;
      }
      for (const seen of early.keys()) if (seen <= version) early.delete(seen);
      await bell.wait(ASK_EVERY_MS);
    }
  } finally {
    deaf();
  }
}
