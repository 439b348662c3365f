import { z } from 'zod';
import { ErrorBody } from '../values/errors.ts';
import { SERVICES } from './subjects.ts';

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

/** A dead letter by its number in the stream, and what is to become of it. */
export const ResolveDeadLetter = z.object({
  sequence: z.int().min(1),
  /** `retry`: handled once more, as it came; it stays when that fails again. `drop`: it is looked at no more. */
  action: z.enum(['retry', 'drop']),
  by: z.string().min(1).max(200).optional(),
});
export type ResolveDeadLetter = z.infer<typeof ResolveDeadLetter>;

/** What became of a dead letter. It stays in the stream for as long as that keeps it: nothing is deleted there. */
export const DeadLetterResolved = z.object({
  /** Whose letter it is. */
  service: z.enum(SERVICES),
  sequence: z.int().min(1),
  action: z.enum(['retry', 'drop']),
  by: z.string().max(200),
  /** Epoch milliseconds. */
  at: z.int(),
});
export type DeadLetterResolved = z.infer<typeof DeadLetterResolved>;
