import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { filters } from '@holdpoint/contracts/bus/subjects';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { TaskPhase } from '@holdpoint/contracts/task/status';
import { createBell } from '../kit/bell.ts';
import type { Client } from '../bus/client.ts';
import { isUnavailable } from '../kit/failure.ts';

/** Where a task's history comes from: the store has the truth, the bus says early that there is more of it. */
export type TaskSource = {
  readonly history: () => Promise<readonly HistoryEntry[]>;
  readonly watch: (
    onFact: (entry: HistoryEntry | undefined) => void,
  ) => Promise<{ readonly stop: () => Promise<void> }>;
};

/** The store is asked this often while the bus says nothing: a fact that got lost is late, not missing. */
const ASK_EVERY_MS = 3_000;

/** A task that waits for a circuit goes on by itself. */
const OVER: readonly TaskPhase[] = ['completed', 'failed', 'cancelled', 'paused'];

export const taskSource = (client: Client, id: TaskEvent['id']): TaskSource => ({
  history: async () => (await client.call('orchestrator', 'history', { id })).events,
  watch: (onFact) =>
    client.watch(
      filters.eventsAbout('task', id),
      ({ event, version, at, data }) =>
        onFact(
          version === undefined || at === undefined
            ? undefined
            : { version, at, type: event, data: { ...data } },
        ),
      // The bus only says that there is more to read: what is no fact, or a refused subscription, is asked about too.
      { onError: () => onFact(undefined) },
    ),
});

/**
 * Hands on every event of a task, once and in order, from the first to the one that ends it or makes it wait for a
 * person; resolves to the phase that it is in then. A service that is away for a while only delays it.
 */
export const followTask = async (
  { history, watch }: TaskSource,
  onEntry: (entry: HistoryEntry) => void,
  askEveryMs = ASK_EVERY_MS,
): Promise<TaskPhase> => {
  const bell = createBell();
  const early = new Map<number, HistoryEntry>();
  let version = 0;
  let phase: TaskPhase | undefined;

  const advance = (entry: HistoryEntry): void => {
    version = entry.version;
    const said = TaskPhase.safeParse(entry.data['phase']);
    if (said.success) phase = said.data;
    onEntry(entry);
  };
  const advanceEarly = (): void => {
    for (let next = early.get(version + 1); next !== undefined; next = early.get(version + 1)) advance(next);
    for (const seen of early.keys()) if (seen <= version) early.delete(seen);
  };
  const ask = async (): Promise<void> => {
    try {
      for (const entry of await history()) if (entry.version > version) advance(entry);
    } catch (error) {
      // The first answer says whether there is such a task at all; later the service may come back.
      if (version === 0 || !isUnavailable(error)) throw error;
    }
    advanceEarly();
  };

  const live = await watch((entry) => {
    if (entry !== undefined) early.set(entry.version, entry);
    bell.ring();
  });
  try {
    await ask();
    while (phase === undefined || !OVER.includes(phase)) {
      await bell.wait(askEveryMs);
      if (early.has(version + 1)) advanceEarly();
      else await ask();
    }
    return phase;
  } finally {
    await live.stop();
  }
};
