import { z } from 'zod';
import { FailureClass, VerdictKind } from '../workflow/failure-class.ts';
import { WAIT_MAX_MS } from '../workflow/workflow.ts';
import { CommitId } from './commands.ts';

/** Characters of what is handed to the next attempt. */
export const HINT_MAX = 32_768;
/** Characters of a report on a job that is stuck: it fits into a request. */
export const REPORT_MAX = 32_000;

export const Verdict = z.object({
  kind: VerdictKind,
  /** How long to wait before a retry. */
  delayMs: z.int().min(0).max(WAIT_MAX_MS),
  class: FailureClass,
  /** Which row of the verdict table decided, as `table@version/row`. */
  rule: z.string(),
  reason: z.string(),
  /** Which rule said the class, and what it went by. */
  classification: z.object({ rule: z.string().max(200), evidence: z.string().max(1_000) }).optional(),
  /** What the next attempt is told of those before it. */
  hint: z.string().max(HINT_MAX).optional(),
  /** With `rollback`: what to go back to. */
  commit: CommitId.optional(),
  /** With `continue`: the number of the session that goes on. */
  session: z.int().min(2).optional(),
  /** With `skip` and `escalate`: what a person needs to know, as Markdown. */
  report: z.string().max(REPORT_MAX).optional(),
});
export type Verdict = z.infer<typeof Verdict>;
