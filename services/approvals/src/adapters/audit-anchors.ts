import { AUDIT_ID } from '@holdpoint/contracts/values/ids';
import { awaitCommit } from '@holdpoint/runtime/engine/await-commit';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import type { Pool } from 'pg';
import type { ServiceMessage } from '../aggregates.ts';
import { type AuditHead, readAuditHash, readAuditHead } from '../queries/audit.ts';

/** How far the log may have come without an anchor, in time and in lines; looked at as often as this. */
const ANCHOR_EVERY_MS = 5 * 60_000;
const ANCHOR_EVERY_LINES = 1_000;
const LOOK_EVERY_MS = 10_000;

/** Whether there is something to sign, and enough of it. */
export const isDue = ({ seq, now, anchor }: AuditHead, atStart: boolean): boolean => {
  if (seq === 0) return false;
  if (anchor === undefined) return true;
  // What is behind the last anchor is at least the line that tells of it.
  const lines = seq - anchor.line;
  return lines > 0 && (atStart || lines >= ANCHOR_EVERY_LINES || now - anchor.at >= ANCHOR_EVERY_MS);
};

export type AuditAnchors = {
  /** Looks now. */
  readonly look: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

/**
 * Has the state of the audit log signed at the start, and now and then. The signature is a fact like any other, so that it stands
 * on the bus as well, where whoever could rewrite the database does not reach it.
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
      // What was signed once is not there any more: a signature on what took its place would only hide that.
      if (anchor !== undefined && (await readAuditHash(pool, anchor.seq)) !== anchor.hash) {
        log.error(
          { line: anchor.seq },
          'the audit log is not what was anchored: nothing of it is signed any more',
        );
        return;
      }
      await awaitCommit(engine, { aggregate: AUDIT_ID, message: { kind: 'anchor', seq, hash } });
    }
    atStart = false;
  };
  const failed = (error: unknown): void =>
    log.warn(errorFields(error), 'the audit log could not be anchored');
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
