import type { AuditLine } from '@holdpoint/contracts/audit/audit';
import { type AuditReport, createAuditVerifier } from '@holdpoint/contracts/audit/verify';
import type { Caller } from '../session/call.ts';
import { createVerifier } from './jws.ts';

const PAGE = 1_000;

export type Verification = {
  readonly report: AuditReport;
  /** The approval requests whose lines were compared. */
  readonly about: ReadonlySet<string>;
  /** The hash of each of their lines, by sequence number. */
  readonly hashes: ReadonlyMap<number, string>;
};

/**
 * Verifies the whole audit log in the browser, not in the service: detects altered, removed, inserted and moved
 * lines. Signatures are checked with the keys that the service publishes; compare these by hand if you do not trust
 * it.
 */
export const verifyLog = async (
  caller: Caller,
  about: ReadonlySet<string>,
  onProgress: (lines: number) => void,
  signal: AbortSignal,
): Promise<Verification> => {
  const { keys, retired = [] } = await caller.ask('approvals', 'keys', {}, { signal });
  const verify = createVerifier([...keys, ...retired].map(({ publicKey }) => publicKey));
  const verifier = createAuditVerifier({ anchors: [], verify });
  const hashes = new Map<number, string>();
  let [after, lines] = [0, 0];
  for (;;) {
    const page = await caller.ask('approvals', 'audit', { after, limit: PAGE }, { signal });
    for (const line of page.items) {
      verifier.take(line);
      if (about.has(line.aggregate)) hashes.set(line.seq, line.hash);
    }
    lines += page.items.length;
    onProgress(lines);
    const last: AuditLine | undefined = page.items.at(-1);
    if (!page.more || last === undefined || last.seq <= after) break;
    after = last.seq;
  }
  return { report: verifier.finish(), about, hashes };
};
