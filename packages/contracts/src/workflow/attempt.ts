import { z } from 'zod';

/** Larger values are mistakes. */
export const TOKENS_MAX = 1_000_000_000_000;
export const COST_USD_MAX = 1_000_000;

/** Known usage of an attempt. */
export const Usage = z.object({
  inputTokens: z.int().min(0).optional(),
  outputTokens: z.int().min(0).optional(),
  costUsd: z.number().min(0).max(COST_USD_MAX).optional(),
  durationMs: z.int().min(0).optional(),
});
export type Usage = z.infer<typeof Usage>;

/** Report of an attempt, by the agent or by its executor. */
export const AttemptReport = z.object({
  /** The chosen approach in a few sentences. Equal approaches reveal a circle. */
  approach: z.string().max(2_000).optional(),
  done: z.string().max(8_000).optional(),
  next: z.string().max(8_000).optional(),
  /** Changed files, relative to the repository. */
  files: z.array(z.string().max(1_024)).max(200).optional(),
  /** Why the attempt ended. `context_exhausted`: work remains for a new session. */
  stop: z.enum(['done', 'context_exhausted', 'gave_up']).optional(),
  usage: Usage.optional(),
});
export type AttemptReport = z.infer<typeof AttemptReport>;
