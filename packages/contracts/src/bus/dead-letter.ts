import { z } from 'zod';
import { ErrorBody } from '../values/errors.ts';
import { type ServiceName, SERVICES } from './subjects.ts';

/** A message that no service could handle, with everything needed to understand it. */
export const DeadLetter = z.object({
  /** Subject of the message. */
  subject: z.string(),
  reason: ErrorBody,
  headers: z.record(z.string(), z.string()),
  /** Body as text, at most `BODY_SHOWN_BYTES`. The service keeps the whole body. */
  body: z.string(),
  bodyBytes: z.int(),
  bodySha256: z.string(),
  deliveries: z.int(),
  at: z.int(),
});
export type DeadLetter = z.infer<typeof DeadLetter>;

/** Bytes of a body that answers show. */
export const BODY_SHOWN_BYTES = 4_096;

/** The service that keeps a dead letter, and its number there: `orchestrator-17`. */
export const DeadLetterId = z
  .string()
  .regex(
    new RegExp(`^(${SERVICES.join('|')})-[1-9][0-9]{0,14}$`),
    'a service and a number, such as orchestrator-17',
  );
export type DeadLetterId = z.infer<typeof DeadLetterId>;

export const deadLetterIdOf = (service: ServiceName, place: number): DeadLetterId =>
  `${service}-${String(place)}`;

/** The inverse of {@link deadLetterIdOf}; undefined for a text that is no id. */
export const deadLetterPlace = (
  id: string,
): { readonly service: ServiceName; readonly place: number } | undefined => {
  const service = SERVICES.find((each) => id.startsWith(`${each}-`));
  return service === undefined || !DeadLetterId.safeParse(id).success
    ? undefined
    : { service, place: Number(id.slice(service.length + 1)) };
};

/** Resolves a dead letter. */
export const ResolveDeadLetter = z.object({
  id: DeadLetterId,
  /** `retry`: handle it again; it stays when that fails. `drop`: ignore it from now on. */
  action: z.enum(['retry', 'drop']),
});
export type ResolveDeadLetter = z.infer<typeof ResolveDeadLetter>;

/** Resolution of a dead letter. The service keeps the letter until its retention is over. */
export const DeadLetterResolved = z.object({
  id: DeadLetterId,
  action: z.enum(['retry', 'drop']),
  by: z.string().max(200),
  /** Epoch milliseconds. */
  at: z.int(),
});
export type DeadLetterResolved = z.infer<typeof DeadLetterResolved>;

export const StoredDeadLetter = z.object({
  id: DeadLetterId,
  service: z.enum(SERVICES),
  letter: DeadLetter,
  resolution: DeadLetterResolved.optional(),
});
export type StoredDeadLetter = z.infer<typeof StoredDeadLetter>;

export const ListDeadLetters = z.object({
  limit: z.int().min(1).max(100).default(20),
  /** The `next` of the previous page. */
  before: DeadLetterId.optional(),
});
export type ListDeadLetters = z.input<typeof ListDeadLetters>;

/** Unresolved dead letters of one service, the latest first. */
export const DeadLetterPage = z.object({
  items: z.array(StoredDeadLetter.omit({ resolution: true })),
  next: DeadLetterId.optional(),
  /** Number of unresolved dead letters, at most `DEAD_LETTERS_COUNTED_MAX`. */
  open: z.int(),
});
export type DeadLetterPage = z.infer<typeof DeadLetterPage>;

export const DEAD_LETTERS_COUNTED_MAX = 10_000;

/** How long a dead letter is kept, resolved or not. */
export const DEAD_LETTER_KEEP_DAYS = 30;
