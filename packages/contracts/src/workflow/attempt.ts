import { z } from 'zod';

/** More than that is a mistake. */
export const TOKENS_MAX = 1_000_000_000_000;
export const COST_USD_MAX = 1_000_000;

/** What an attempt used, as far as it is known. */
export const Usage = z.object({
  inputTokens: z.int().min(0).optional(),
  outputTokens: z.int().min(0).optional(),
  costUsd: z.number().min(0).max(COST_USD_MAX).optional(),
  durationMs: z.int().min(0).optional(),
});
export type Usage = z.infer<typeof Usage>;

/** What was tried, and what came of it: as an agent says it of itself, and as its executor has seen it. */
export const AttemptReport = z.object({
  /** In a few sentences: the way that was taken. Two attempts with the same one are going round in circles. */
  approach: z.string().max(2_000).optional(),
  done: z.string().max(8_000).optional(),
  next: z.string().max(8_000).optional(),
  /** Relative to the repository: what it changed. */
  files: z.array(z.string().max(1_024)).max(200).optional(),
  /** Why it ended. `context_exhausted`: there is more to do than it can keep in mind; a new session may go on. */
  stop: z.enum(['done', 'context_exhausted', 'gave_up']).optional(),
  usage: Usage.optional(),
});
export type AttemptReport = z.infer<typeof AttemptReport>;
