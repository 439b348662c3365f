import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { filters } from '@holdpoint/contracts/bus/subjects';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import { isEndPhase, TaskPhase } from '@holdpoint/contracts/task/status';
import { createBell } from '../kit/bell.ts';
import type { Client } from '../bus/client.ts';
import type { Watch } from '../bus/watch.ts';
import { isUnavailable } from '../kit/failure.ts';

/** Source of a task's history: the store has the events, a message on the bus says that there are more. */
export type TaskSource = {
  /** All events after this version. */
  readonly history: (after: number) => Promise<readonly HistoryEntry[]>;
  readonly watch: (onChange: () => void) => Promise<Watch>;
};

/** Polling interval for messages that the bus lost. */
const ASK_EVERY_MS = 3_000;
const PAGE = 500;

/** A task that waits for a circuit continues without an operator. */
const isOver = (phase: TaskPhase): boolean => isEndPhase(phase) || phase === 'paused';

export const taskSource = (client: Client, id: TaskId): TaskSource => ({
  history: async (after) => {
    const found: HistoryEntry[] = [];
    for (let more = true; more;) {
      const from = found.at(-1)?.version ?? after;
      const page = await client.call('orchestrator', 'history', { id, after: from, limit: PAGE });
      found.push(...page.events);
      more = page.more === true && page.events.length > 0;
    }
    return found;
  },
  watch: (onChange) => client.watch(filters.eventsAbout('task', id), onChange),
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
  let version = 0;
  let phase: TaskPhase | undefined;

  const read = async (): Promise<void> => {
    try {
      for (const entry of await history(version)) {
        if (entry.version <= version) continue;
        version = entry.version;
        const parsed = TaskPhase.safeParse(entry.data['phase']);
        if (parsed.success) phase = parsed.data;
        onEntry(entry);
      }
    } catch (error) {
      // The first read tells whether the task exists; later reads tolerate failures.
      if (version === 0 || !isUnavailable(error)) throw error;
    }
  };

  const live = await watch(bell.ring);
  try {
    await read();
    while (phase === undefined || !isOver(phase)) {
      await bell.wait(askEveryMs);
      await read();
    }
    return phase;
  } finally {
    await live.stop();
  }
};
