import { z } from 'zod';
import { FailureClass, VerdictKind } from '../workflow/failure-class.ts';
import { WAIT_MAX_MS } from '../workflow/workflow.ts';
import { CommitId } from './commands.ts';

/** Maximum characters of a hint to the next attempt. */
export const HINT_MAX = 32_768;
/** Maximum characters of a stuck-job report, which must fit into an approval request. */
export const REPORT_MAX = 32_000;

/** Maximum attempts that a verdict names as the same approach. */
export const SAME_MAX = 100;

export const Verdict = z.object({
  kind: VerdictKind,
  /** Delay before a retry. */
  delayMs: z.int().min(0).max(WAIT_MAX_MS),
  class: FailureClass,
  /** Row of the verdict table, as `table@version/row`. */
  rule: z.string(),
  reason: z.string(),
  /** Classification rule and its evidence. */
  classification: z.object({ rule: z.string().max(200), evidence: z.string().max(1_000) }).optional(),
  /** With `CIRCULAR_FIX`: the earlier attempts with the same approach, and their similarity (0 to 1). */
  same: z
    .array(z.object({ attempt: z.int().min(1), similarity: z.number().min(0).max(1) }))
    .max(SAME_MAX)
    .optional(),
  /** Summary of earlier attempts for the next one. */
  hint: z.string().max(HINT_MAX).optional(),
  /** With `rollback`: the target commit. */
  commit: CommitId.optional(),
  /** With `continue`: number of the next session. */
  session: z.int().min(2).optional(),
  /** With `skip` and `escalate`: Markdown report for operators. */
  report: z.string().max(REPORT_MAX).optional(),
});
export type Verdict = z.infer<typeof Verdict>;

/** The error of a failed attempt in one line: the line of its output that tells why, and its message. */
export const errorText = (
  { message }: { readonly message: string },
  { classification }: Pick<Verdict, 'classification'>,
): string => {
  const first = message.split('\n', 1)[0]?.trim() ?? '';
  const evidence = classification?.evidence ?? '';
  if (evidence === '' || first.includes(evidence)) return first;
  return first === '' || evidence.includes(first) ? evidence : `${evidence} (${first})`;
};
