import { setTimeout as pause } from 'node:timers/promises';
import type { LogLine, LogStream } from '@holdpoint/contracts/task/log';
import { createBell } from '../kit/bell.ts';
import { isUnavailable } from '../kit/failure.ts';
import { createOnce, LAST_LINES_MS, type LogSource } from '../bus/logs.ts';
import type { Job } from './job.ts';
import { waitsForPerson } from './person.ts';
import { isEnded } from './status.ts';

/** Source of a job's state, with change notifications. */
export type JobSource = {
  readonly load: () => Promise<Job>;
  readonly watch: (onChange: () => void) => Promise<{ readonly stop: () => Promise<void> }>;
};

/** The bus may lose notifications: polling finds them later. */
const ASK_EVERY_MS = 2_000;
/** Minimum gap between reads, for jobs that write constantly. */
const ASK_GAP_MS = 100;

export type TailOptions = {
  readonly stream: LogStream | 'both';
  readonly onLine: (line: LogLine) => void;
  readonly askEveryMs?: number;
};

const createReader = (logs: LogSource, { stream, onLine }: TailOptions): (() => Promise<void>) => {
  const isNew = createOnce();
  let position = 0;
  return async () => {
    position = await logs.read(position, (line) => {
      if (isNew(line) && (stream === 'both' || line.stream === stream)) onLine(line);
    });
  };
};

export const tailOnce = async (jobs: JobSource, logs: LogSource, options: TailOptions): Promise<Job> => {
  const job = await jobs.load();
  await createReader(logs, options)();
  return job;
};

/** Every line until the job has ended or its task waits for a person, including late ones. Resolves to the job. */
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
      // Order matters: lines written before the end are visible once the end is known.
      await reload();
      await read();
      if (isEnded(job.node.job) || waitsForPerson(job.run)) break;
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
