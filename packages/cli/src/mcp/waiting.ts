import { setTimeout as pause } from 'node:timers/promises';
import { filters } from '@holdpoint/contracts/bus/subjects';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import { isEndPhase, type TaskPhase } from '@holdpoint/contracts/task/status';
import type { TaskView } from '@holdpoint/contracts/task/views';
import type { Client } from '../bus/client.ts';
import { createBell } from '../kit/bell.ts';
import { isUnavailable } from '../kit/failure.ts';

/** The task does not continue without an approver or operator. */
const standsStill = (phase: TaskPhase): boolean =>
  isEndPhase(phase) || phase === 'awaiting_approval' || phase === 'paused';

export type Until = 'ended' | 'standing';

/** The bus may lose notifications: polling finds them later. */
const ASK_EVERY_MS = 2_000;
/** Minimum gap between reads, for tasks that change constantly. */
const ASK_GAP_MS = 100;

export type Waiting = {
  readonly until: Until;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called for each new version of the task. */
  readonly onChange?: (task: TaskView) => void;
};

const isThere = (phase: TaskPhase, until: Until): boolean =>
  (until === 'ended' ? isEndPhase : standsStill)(phase);

/** The task once it has reached that state, or when the time is up. */
export const waitForTask = async (
  client: Client,
  id: TaskId,
  { until, timeoutMs, signal, onChange }: Waiting,
): Promise<{ readonly task: TaskView; readonly reached: boolean }> => {
  const bell = createBell();
  const overAt = performance.now() + timeoutMs;
  const watching = await client.watch(filters.eventsAbout('task', id), bell.ring);
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
