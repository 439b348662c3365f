import type { AuditAnchored, AuditClaims } from '@holdpoint/contracts/audit/audit';
import { AUDIT_ID } from '@holdpoint/contracts/values/ids';
import { type Decider, decision, unknownEvent } from '@holdpoint/runtime/decider';

/** Position of the audit log when it was last signed. */
export type AuditLog = { readonly status: 'audit'; readonly seq: number; readonly hash: string };

export type AuditMessage = { readonly kind: 'anchor'; readonly seq: number; readonly hash: string };

export type SignAnchor = (claims: AuditClaims) => string;

const evolveAudit = (event: AuditAnchored): AuditLog =>
  event.type === 'audit_anchored'
    ? { status: 'audit', seq: event.seq, hash: event.hash }
    : unknownEvent(event as never);

/**
 * Signs the position of the log. It never goes back, and an anchor whose only new line is the previous anchor
 * is skipped.
 */
export const createAuditDecider = (
  sign: SignAnchor,
): Decider<AuditLog | undefined, AuditMessage, AuditAnchored> => ({
  initial: undefined,
  evolve: (_state, event) => evolveAudit(event),
  decide: (state, { seq, hash }, { now }) => {
    // The line of the last anchor is the one after the position that it signs.
    if (state !== undefined && seq <= state.seq + 1) return decision({});
    const statement = sign({ use: 'audit', seq, hash, iat: Math.floor(now / 1_000) });
    return decision({ events: [{ type: 'audit_anchored', id: AUDIT_ID, seq, hash, statement, at: now }] });
  },
});
