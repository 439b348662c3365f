import { setTimeout as pause } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import { isEndPhase, type JobStatus } from '@holdpoint/contracts/task/status';
import type { NodeView, TaskView } from '@holdpoint/contracts/task/views';
import { createBell } from '../kit/bell.ts';
import { isUnavailable } from '../kit/failure.ts';

export type RunSource = {
  readonly load: () => Promise<TaskView>;
  readonly watch: (onChange: () => void) => Promise<{ readonly stop: () => Promise<void> }>;
};

export type RunObserver = {
  /** Called after every read, before the statuses. */
  readonly onLoad?: (run: TaskView) => Promise<void> | void;
  /** Called for each job whose status changed; the first time, for each job that has begun. */
  readonly onStatus: (node: NodeView, run: TaskView) => Promise<void> | void;
  /** Called after every read. True ends the following: the run continues only after a person has acted. */
  readonly onRead: (run: TaskView) => Promise<boolean | void> | boolean | void;
};

/** The bus may lose notifications: polling finds them later. */
const LOOK_EVERY_MS = 1_000;
/** Minimum gap between reads; reading takes at most half of the time. */
const LOOK_GAP_MS = 100;

/** Initial statuses are not reported. */
const NOT_BEGUN: ReadonlySet<JobStatus> = new Set<JobStatus>(['queued', 'waiting_on_deps']);

/** Reports changes until the task has ended or waits for a person, and resolves to it. Unavailable services only delay it. */
export const followRun = async (
  { load, watch }: RunSource,
  { onLoad, onStatus, onRead }: RunObserver,
  lookEveryMs = LOOK_EVERY_MS,
): Promise<TaskView> => {
  const bell = createBell();
  const known = new Map<string, JobStatus>();
  const report = async (run: TaskView): Promise<boolean> => {
    await onLoad?.(run);
    for (const node of run.nodes) {
      const before = known.get(node.id);
      known.set(node.id, node.job);
      if (before === node.job || (before === undefined && NOT_BEGUN.has(node.job))) continue;
      await onStatus(node, run);
    }
    return (await onRead(run)) === true;
  };
  let run: TaskView | undefined;
  /** Whether the run waits for a person. */
  const read = async (): Promise<boolean> => {
    try {
      run = await load();
    } catch (error) {
      if (run === undefined || !isUnavailable(error)) throw error;
      return false;
    }
    return report(run);
  };
  const live = await watch(bell.ring);
  try {
    for (;;) {
      const began = performance.now();
      const isLeft = await read();
      if (run !== undefined && (isLeft || isEndPhase(run.phase))) return run;
      await pause(Math.min(lookEveryMs, Math.max(LOOK_GAP_MS, performance.now() - began)));
      await bell.wait(lookEveryMs);
    }
  } finally {
    await live.stop();
  }
};
