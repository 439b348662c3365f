import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { filters } from '@holdpoint/contracts/bus/subjects';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { TaskPhase } from '@holdpoint/contracts/task/status';
import { createBell } from '../kit/bell.ts';
import type { Client } from '../bus/client.ts';
import { isUnavailable } from '../kit/failure.ts';

/** Source of a task's history: the store has the events, the bus announces new ones early. */
export type TaskSource = {
  readonly history: () => Promise<readonly HistoryEntry[]>;
  readonly watch: (
    onFact: (entry: HistoryEntry | undefined) => void,
  ) => Promise<{ readonly stop: () => Promise<void> }>;
};

/** Polling interval for announcements that the bus lost. */
const ASK_EVERY_MS = 3_000;

/** A task that waits for a circuit continues without an operator. */
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
      // The bus only announces: after an invalid message or a refused subscription, read the store too.
      { onError: () => onFact(undefined) },
    ),
});

/**
 * Delivers every event of a task once and in order, until the task has ended or is paused. Resolves to its phase.
 * Unavailable services only delay it.
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
    const parsed = TaskPhase.safeParse(entry.data['phase']);
    if (parsed.success) phase = parsed.data;
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
      // The first read tells whether the task exists; later reads tolerate failures.
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
