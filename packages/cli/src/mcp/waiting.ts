import { setTimeout as pause } from 'node:timers/promises';
import { filters } from '@holdpoint/contracts/bus/subjects';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { TaskPhase } from '@holdpoint/contracts/task/status';
import type { TaskView } from '@holdpoint/contracts/task/views';
import type { Client } from '../bus/client.ts';
import { createBell } from '../kit/bell.ts';
import { isUnavailable } from '../kit/failure.ts';

const ENDED: ReadonlySet<TaskPhase> = new Set(['completed', 'failed', 'cancelled']);
/** Whoever has asked goes no further by itself: a person has to do something, or say something. */
const STANDS_STILL: ReadonlySet<TaskPhase> = new Set([...ENDED, 'awaiting_approval', 'paused']);

export type Until = 'ended' | 'standing';

/** What the bus loses is late, not missing. */
const ASK_EVERY_MS = 2_000;
/** A task that changes all the time is not looked at more often than this. */
const ASK_GAP_MS = 100;

export type Waiting = {
  readonly until: Until;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Told whenever the task has come to another version. */
  readonly onChange?: (task: TaskView) => void;
};

const isThere = (phase: TaskPhase, until: Until): boolean =>
  (until === 'ended' ? ENDED : STANDS_STILL).has(phase);

/** The task as it stands once it has come so far, or the time is up. */
export const waitForTask = async (
  client: Client,
  id: TaskId,
  { until, timeoutMs, signal, onChange }: Waiting,
): Promise<{ readonly task: TaskView; readonly reached: boolean }> => {
  const bell = createBell();
  const overAt = performance.now() + timeoutMs;
  const watching = await client.watch(filters.eventsAbout('task', id), () => bell.ring());
  let task = await client.call('orchestrator', 'get', { id });
  try {
    for (;;) {
      if (isThere(task.phase, until)) return { task, reached: true };
      const left = overAt - performance.now();
      if (left <= 0 || signal.aborted) return { task, reached: false };
      await pause(Math.min(ASK_GAP_MS, left));
      await bell.wait(Math.min(ASK_EVERY_MS, left));
      const { version } = task;
      try {
        task = await client.call('orchestrator', 'get', { id });
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
      if (task.version !== version) onChange?.(task);
    }
  } finally {
    await watching.stop();
  }
};
