import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { ClientPort } from './port.ts';

/** Wakes whoever waits; a ring that nobody waits for is kept. */
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

/** The store is asked this often while the bus says nothing: a fact that got lost is late, not missing. */
const ASK_EVERY_MS = 3_000;

const isUnavailable = (error: unknown): boolean =>
  error instanceof HoldpointError && error.code === 'RUNTIME_UNAVAILABLE';

export const historyOf = async (
  { ask }: Pick<ClientPort, 'ask'>,
  id: TaskId,
): Promise<readonly HistoryEntry[]> => (await ask('orchestrator', 'history', { id })).events;

/**
 * Every event of a task, once and in order, from the first on: what there is, and then what comes. It ends when nobody wants
 * more of it. A service that is away for a while only delays it; throws when there is no such task.
 */
export async function* followTask(
  port: ClientPort,
  id: TaskId,
): AsyncGenerator<HistoryEntry, never, undefined> {
  const bell = createBell(port.clock);
  const early = new Map<number, HistoryEntry>();
  let version = 0;

  /** What the store has beyond what is known. Its version is asked for first: a history may be long. */
  const missing = async (): Promise<readonly HistoryEntry[]> => {
    try {
      if (version > 0 && (await port.ask('orchestrator', 'get', { id })).version <= version) return [];
      return await historyOf(port, id);
    } catch (error) {
      // The first answer says whether there is such a task at all; later the service may come back.
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
