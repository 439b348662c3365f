import { z } from 'zod';
import { ErrorBody } from '../values/errors.ts';
import { SERVICES } from './subjects.ts';

/** A message that no service could handle, with everything needed to understand and resend it. */
export const DeadLetter = z.object({
  /** Subject of the message. */
  subject: z.string(),
  reason: ErrorBody,
  headers: z.record(z.string(), z.string()),
  /** Body as text, at most `BODY_MAX_BYTES`. */
  body: z.string(),
  bodyBytes: z.int(),
  bodySha256: z.string(),
  deliveries: z.int(),
  at: z.int(),
});
export type DeadLetter = z.infer<typeof DeadLetter>;

/** Limit of a stored body: enough to recognize the message, too little to flood the stream. */
export const BODY_MAX_BYTES = 4_096;

/** Resolves a dead letter, named by its sequence in the stream. */
export const ResolveDeadLetter = z.object({
  sequence: z.int().min(1),
  /** `retry`: handle it again; it stays when that fails. `drop`: ignore it from now on. */
  action: z.enum(['retry', 'drop']),
  by: z.string().min(1).max(200).optional(),
});
export type ResolveDeadLetter = z.infer<typeof ResolveDeadLetter>;

/** Resolution of a dead letter. The letter itself stays in the stream until it expires. */
export const DeadLetterResolved = z.object({
  /** The service that wrote the dead letter. */
  service: z.enum(SERVICES),
  sequence: z.int().min(1),
  action: z.enum(['retry', 'drop']),
  by: z.string().max(200),
  /** Epoch milliseconds. */
  at: z.int(),
});
export type DeadLetterResolved = z.infer<typeof DeadLetterResolved>;
