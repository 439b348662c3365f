import { z } from 'zod';

/** Where a line of output was written. */
export const LogStream = z.enum(['stdout', 'stderr']);
export type LogStream = z.infer<typeof LogStream>;

/** A longer line is cut, so that a line always fits into a message. */
export const LOG_LINE_MAX = 65_536;

/**
 * One line of the output of a step, on `subjects.log(task, node)` (stream `HP_LOG`), as it was written. Lines are live
 * output: they are kept for a day at the most, and nothing is decided by them.
 */
export const LogLine = z.object({
  attempt: z.int().min(1),
  /** Which part of the attempt wrote it: `run`, `before.0`, `run.3` (an item). */
  step: z.string().min(1).max(64),
  stream: LogStream,
  /** Counts the lines of a step of an attempt from 1: a line that came twice is known by it, and a gap shows what is missing. */
  seq: z.int().min(1),
  /** Without the line break. */
  line: z.string().max(LOG_LINE_MAX),
  /** When it was written. Epoch milliseconds. */
  at: z.int(),
});
export type LogLine = z.infer<typeof LogLine>;
