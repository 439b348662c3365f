import { setTimeout as pause } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import type { JobStatus, TaskPhase } from '@holdpoint/contracts/task/status';
import type { NodeView, TaskView } from '@holdpoint/contracts/task/views';
import { createBell } from '../kit/bell.ts';
import { isUnavailable } from '../kit/failure.ts';

/** Where a run is read from. */
export type RunSource = {
  readonly load: () => Promise<TaskView>;
  readonly watch: (onChange: () => void) => Promise<{ readonly stop: () => Promise<void> }>;
};

/** Who is told of what happens. */
export type Onlooker = {
  /** Each job whose status is another one than before; at first, each whose turn has come. */
  readonly onStatus: (node: NodeView, run: TaskView) => Promise<void> | void;
  /** After every look at the run. */
  readonly onLook: (run: TaskView) => Promise<void> | void;
};

/** What the bus loses is late, not missing. */
const LOOK_EVERY_MS = 1_000;
/** A run with many jobs says something all the time: it is not looked at more often than this, and no longer than half of the time. */
const LOOK_GAP_MS = 100;

/** How every job begins: that is nothing to tell. */
const NOT_BEGUN: ReadonlySet<JobStatus> = new Set<JobStatus>(['queued', 'waiting_on_deps']);
const ENDED: ReadonlySet<TaskPhase> = new Set<TaskPhase>(['completed', 'failed', 'cancelled']);

/** Tells of a run until it has ended, and resolves to it as it is then. Services that are away for a while only delay it. */
export const followRun = async (
  { load, watch }: RunSource,
  { onStatus, onLook }: Onlooker,
  lookEveryMs = LOOK_EVERY_MS,
): Promise<TaskView> => {
  const bell = createBell();
  const known = new Map<string, JobStatus>();
  const tell = async (run: TaskView): Promise<void> => {
    for (const node of run.nodes) {
      const before = known.get(node.id);
      known.set(node.id, node.job);
      if (before === node.job || (before === undefined && NOT_BEGUN.has(node.job))) continue;
      await onStatus(node, run);
    }
    await onLook(run);
  };
  let run: TaskView | undefined;
  const look = async (): Promise<void> => {
    try {
      run = await load();
    } catch (error) {
      if (run === undefined || !isUnavailable(error)) throw error;
      return;
    }
    await tell(run);
  };
  const live = await watch(bell.ring);
  try {
    for (;;) {
      const began = performance.now();
      await look();
      if (run !== undefined && ENDED.has(run.phase)) return run;
      await pause(Math.min(lookEveryMs, Math.max(LOOK_GAP_MS, performance.now() - began)));
      await bell.wait(lookEveryMs);
    }
  } finally {
    await live.stop();
  }
};
