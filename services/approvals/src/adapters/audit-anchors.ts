import { AUDIT_ID } from '@holdpoint/contracts/values/ids';
import { awaitCommit } from '@holdpoint/runtime/engine/await-commit';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import type { Pool } from 'pg';
import type { ServiceMessage } from '../aggregates.ts';
import { type AuditHead, readAuditHash, readAuditHead } from '../queries/audit.ts';

/** Longest part of the log without an anchor, in time and in lines, and the interval of the checks. */
const ANCHOR_EVERY_MS = 5 * 60_000;
const ANCHOR_EVERY_LINES = 1_000;
const LOOK_EVERY_MS = 10_000;

export const isDue = ({ seq, now, anchor }: AuditHead, atStart: boolean): boolean => {
  if (seq === 0) return false;
  if (anchor === undefined) return true;
  // The event of the last anchor is itself a line after the anchored position.
  const lines = seq - anchor.line;
  return lines > 0 && (atStart || lines >= ANCHOR_EVERY_LINES || now - anchor.at >= ANCHOR_EVERY_MS);
};

export type AuditAnchors = {
  /** Checks now. */
  readonly look: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

/**
 * Signs the position of the audit log at start and periodically. The signature is published as an event too,
 * out of reach of anyone who can rewrite the database.
 */
export const startAuditAnchors = (
  pool: Pool,
  engine: Pick<Engine<ServiceMessage>, 'accept'>,
  log: Logger,
): AuditAnchors => {
  let atStart = true;
  const look = async (): Promise<void> => {
    const head = await readAuditHead(pool);
    if (isDue(head, atStart)) {
      const { anchor, seq, hash } = head;
      // The anchored line has changed: a new signature would hide that.
      if (anchor !== undefined && (await readAuditHash(pool, anchor.seq)) !== anchor.hash) {
        log.error({ line: anchor.seq }, 'the audit log differs from its last anchor: signing has stopped');
        return;
      }
      await awaitCommit(engine, {
        kind: 'audit',
        aggregate: AUDIT_ID,
        message: { kind: 'anchor', seq, hash },
      });
    }
    atStart = false;
  };
  const failed = (error: unknown): void => log.warn(errorFields(error), 'audit log anchor failed');
  const first = look().catch(failed);
  const looking = startPeriodic('audit anchors', LOOK_EVERY_MS, look, log);
  return {
    look,
    stop: async () => {
      await first;
      await looking.stop();
    },
  };
};
