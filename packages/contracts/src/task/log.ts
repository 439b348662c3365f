import { z } from 'zod';

/** Output stream of a line. */
export const LogStream = z.enum(['stdout', 'stderr']);
export type LogStream = z.infer<typeof LogStream>;

/** Longer lines are cut, so that a line fits into a message. */
export const LOG_LINE_MAX = 65_536;

/**
 * One output line of a step on `subjects.log(task, node)` (stream `HP_LOG`). Lines are live output: kept
 * for at most a day, and no decision uses them.
 */
export const LogLine = z.object({
  attempt: z.int().min(1),
  /** Part of the attempt: `run`, `before.0`, `run.3` (an item). */
  step: z.string().min(1).max(64),
  stream: LogStream,
  /** Line number within the step, from 1. It reveals duplicates and gaps. */
  seq: z.int().min(1),
  /** Without the line break. */
  line: z.string().max(LOG_LINE_MAX),
  /** When it was written. Epoch milliseconds. */
  at: z.int(),
});
export type LogLine = z.infer<typeof LogLine>;
