import { z } from 'zod';
import { AUDIT_ID } from '../values/ids.ts';
import { sha256Of } from '../values/json.ts';

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** A line end in it would make two lines read the same. */
const Word = z.string().regex(/^[^\n]*$/);

/**
 * One line of the audit log. The database writes it, in the transaction of the event that it tells of; `hash` is over all the
 * rest, and over the hash of the line before.
 */
export const AuditEntry = z.object({
  /** Gapless, from 1. */
  seq: z.int().min(1),
  /** Epoch milliseconds. */
  at: z.int(),
  /** The approval, rule or token that it is about, which of its events it is, and of which type. */
  aggregate: Word,
  version: z.int(),
  type: Word,
  /** SHA-256 of the event as it is stored. */
  eventSha256: Sha256,
  /** What of the event stays when the event itself is gone: who, what digest, by which rule, on which surface. JSON. */
  entry: z.string(),
  previous: Sha256,
  hash: Sha256,
});
export type AuditEntry = z.infer<typeof AuditEntry>;

/** A line beside what became of its event. */
export const AuditLine = AuditEntry.extend({
  /** SHA-256 of the event as it is stored now; left out once it is retired. */
  storedSha256: z.string().optional(),
  /** The event is not there, or under another type or time, although what it belongs to was not retired. */
  eventGone: z.literal(true).optional(),
});
export type AuditLine = z.infer<typeof AuditLine>;

/** What the first line stands on. */
export const AUDIT_ROOT = '0'.repeat(64);

/** What a line's hash has to be. Each field before the last is without line ends, so that no two lines read the same. */
export const auditHash = (line: Omit<AuditEntry, 'hash'>): string =>
  sha256Of(
    [
      line.previous,
      String(line.seq),
      String(line.at),
      line.aggregate,
      String(line.version),
      line.type,
      line.eventSha256,
      line.entry,
    ].join('\n'),
  );

/** The approvals service says where the log stood, signed: what is cut off behind it is missed. */
export const AuditAnchored = z.object({
  type: z.literal('audit_anchored'),
  id: z.literal(AUDIT_ID),
  seq: z.int().min(1),
  hash: Sha256,
  statement: z.string().max(4_096),
  at: z.int(),
});
export type AuditAnchored = z.infer<typeof AuditAnchored>;

/** What the statement of an anchor says, as the claims of its JWS. */
export const AuditClaims = z.object({
  use: z.literal('audit'),
  seq: z.int().min(1),
  hash: Sha256,
  /** Epoch seconds. */
  iat: z.int(),
});
export type AuditClaims = z.infer<typeof AuditClaims>;
