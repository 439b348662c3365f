import { z } from 'zod';
import { ErrorBody } from './errors.ts';

/** A message that no service could handle, with what is needed to understand and to send it again. */
export const DeadLetter = z.object({
  /** The subject it came on. */
  subject: z.string(),
  reason: ErrorBody,
  headers: z.record(z.string(), z.string()),
  /** The body as text, at most `BODY_MAX_BYTES` of it. */
  body: z.string(),
  bodyBytes: z.int(),
  bodySha256: z.string(),
  deliveries: z.int(),
  at: z.int(),
});
export type DeadLetter = z.infer<typeof DeadLetter>;

/** More of a body is not kept: enough to see what it was, too little to flood the stream. */
export const BODY_MAX_BYTES = 4_096;
