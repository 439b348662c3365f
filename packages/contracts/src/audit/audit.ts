import { z } from 'zod';
import { AUDIT_ID } from '../values/ids.ts';
import { sha256Of } from '../values/json.ts';

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** A line end would make two different lines look equal. */
const Word = z.string().regex(/^[^\n]*$/);

/**
 * One line of the audit log. The database writes it in the transaction of its event. `hash` covers all
 * other fields, including the hash of the previous line.
 */
export const AuditEntry = z.object({
  /** Gapless, from 1. */
  seq: z.int().min(1),
  /** Epoch milliseconds. */
  at: z.int(),
  /** The approval, rule or token, and version and type of its event. */
  aggregate: Word,
  version: z.int(),
  type: Word,
  /** SHA-256 of the event as it is stored. */
  eventSha256: Sha256,
  /** The part of the event that outlives it: person, digest, rule and surface. JSON. */
  entry: z.string(),
  previous: Sha256,
  hash: Sha256,
});
export type AuditEntry = z.infer<typeof AuditEntry>;

/** A line with the current state of its event. */
export const AuditLine = AuditEntry.extend({
  /** SHA-256 of the stored event; absent once it is purged. */
  storedSha256: z.string().optional(),
  /** The event is missing, or its type or time differ, although its aggregate was not purged. */
  eventGone: z.literal(true).optional(),
});
export type AuditLine = z.infer<typeof AuditLine>;

/** Previous hash of the first line. */
export const AUDIT_ROOT = '0'.repeat(64);

/**
 * Hash of a line. Only the last field may contain line ends, so two different lines never serialize
 * equally.
 */
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

/** Signed position of the log: a later truncation before it is detectable. */
export const AuditAnchored = z.object({
  type: z.literal('audit_anchored'),
  id: z.literal(AUDIT_ID),
  seq: z.int().min(1),
  hash: Sha256,
  statement: z.string().max(4_096),
  at: z.int(),
});
export type AuditAnchored = z.infer<typeof AuditAnchored>;

/** Claims of the JWS of an anchor. */
export const AuditClaims = z.object({
  use: z.literal('audit'),
  seq: z.int().min(1),
  hash: Sha256,
  /** Epoch seconds. */
  iat: z.int(),
});
export type AuditClaims = z.infer<typeof AuditClaims>;
