import { setTimeout as pause } from 'node:timers/promises';
import type { LogLine, LogStream } from '@holdpoint/contracts/task/log';
import { createBell } from '../kit/bell.ts';
import { isUnavailable } from '../kit/failure.ts';
import type { LogSource } from '../bus/logs.ts';
import type { Job } from './job.ts';
import { isEnded } from './status.ts';

/** How a job is doing, and word that this may have changed. */
export type JobSource = {
  readonly load: () => Promise<Job>;
  readonly watch: (onChange: () => void) => Promise<{ readonly stop: () => Promise<void> }>;
};

/** What the bus loses is late, not missing. */
const ASK_EVERY_MS = 2_000;
/** A job that writes all the time is not looked at more often than this. */
const ASK_GAP_MS = 100;
/** Lines and the end of a job come by different ways: the last ones may be that much behind. */
const LAST_LINES_MS = 250;

/** A line that came twice is one line; a step that was begun again after an interruption says what it says. */
const createOnce = (): ((line: LogLine) => boolean) => {
  const latest = new Map<string, { readonly seq: number; readonly at: number }>();
  return ({ attempt, step, stream, seq, at }) => {
    const key = `${String(attempt)} ${step} ${stream}`;
    const before = latest.get(key);
    if (before !== undefined && seq <= before.seq && at <= before.at) return false;
    latest.set(key, { seq, at });
    return true;
  };
};

export type TailOptions = {
  readonly stream: LogStream | 'both';
  readonly onLine: (line: LogLine) => void;
  readonly askEveryMs?: number;
};

const createReader = (logs: LogSource, { stream, onLine }: TailOptions): (() => Promise<void>) => {
  const isNew = createOnce();
  let place = 0;
  return async () => {
    place = await logs.read(place, (line) => {
      if (isNew(line) && (stream === 'both' || line.stream === stream)) onLine(line);
    });
  };
};

/** What there is now. */
export const tailOnce = async (jobs: JobSource, logs: LogSource, options: TailOptions): Promise<Job> => {
  const job = await jobs.load();
  await createReader(logs, options)();
  return job;
};

/** Every line until the job has ended, those that come last included; resolves to the job as it is then. */
export const tailUntilEnd = async (jobs: JobSource, logs: LogSource, options: TailOptions): Promise<Job> => {
  const { askEveryMs = ASK_EVERY_MS } = options;
  const bell = createBell();
  let job = await jobs.load();
  const read = createReader(logs, options);
  const live = [await jobs.watch(bell.ring), logs.watch(bell.ring)];
  const reload = async (): Promise<void> => {
    try {
      job = await jobs.load();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
  };
  try {
    for (;;) {
      // In this order: what was written before the end is there when the end is known.
      await reload();
      await read();
      if (isEnded(job.node.job)) break;
      await pause(Math.min(ASK_GAP_MS, askEveryMs));
      await bell.wait(askEveryMs);
    }
    await pause(Math.min(LAST_LINES_MS, askEveryMs));
    await read();
    return job;
  } finally {
    for (const { stop } of live) await stop();
  }
};
