import { readFile } from 'node:fs/promises';
import { type AuditReport, createAuditVerifier } from '@holdpoint/contracts/audit/verify';
import { createVerifier } from '@holdpoint/contracts/values/jws';
import { publicKeysIn } from '@holdpoint/contracts/approval/signing-keys';
import { layout } from '@holdpoint/infra/credentials/layout';
import { z } from 'zod';
import type { Deployment } from '../deployment/deployment.ts';

/** The audit log, compared with the events of approvals and with the anchors on the bus. */
export type AuditEvidence = {
  readonly report: AuditReport;
  /** Events without a line, and lines that repeat an event. */
  readonly untold: number;
  readonly toldTwice: number;
  /** The anchors seen during the run. */
  readonly heard: number;
};

const PAGE = 2_000;

/** Purged approvals have lines without events. */
const Row = z
  .looseObject({
    seq: z.coerce.number(),
    at: z.coerce.number(),
    storedSha256: z.string().nullable(),
    eventGone: z.boolean(),
  })
  .transform(({ storedSha256, eventGone, ...line }) => ({
    ...line,
    ...(storedSha256 !== null && { storedSha256 }),
    ...(eventGone && { eventGone }),
  }));

const COUNTS = `
  SELECT (SELECT count(*)::int FROM approvals.events e
           WHERE NOT EXISTS (SELECT FROM approvals.audit a
                              WHERE a.aggregate = e.aggregate AND a.version = e.version AND a.type = e.type)) AS untold,
         (SELECT count(*)::int FROM approvals.audit a JOIN approvals.audit b USING (aggregate, version, at)
           WHERE a.seq < b.seq) AS twice`;

/** Reads the whole log as the database administrator. */
export const lookAtAudit = async (
  { query, credentialsDir }: Pick<Deployment, 'query' | 'credentialsDir'>,
  heard: readonly string[],
): Promise<AuditEvidence> => {
  const keys = publicKeysIn(await readFile(layout(credentialsDir).grantPublicKeys, 'utf8'));
  const { take, finish } = createAuditVerifier({ anchors: heard, verify: createVerifier(keys) });
  for (let after = 0, more = true; more;) {
    const rows = await query(
      `SELECT a.seq::text, a.at::text, a.aggregate, a.version, a.type, encode(a.event_sha256, 'hex') AS "eventSha256", a.entry,
              encode(a.previous, 'hex') AS previous, encode(a.hash, 'hex') AS hash,
              encode(sha256(convert_to(e.data::text, 'UTF8')), 'hex') AS "storedSha256",
              e.aggregate IS NULL AND EXISTS (SELECT FROM approvals.heads h
                                               WHERE h.id = a.aggregate AND h.created_at <= a.at) AS "eventGone"
         FROM approvals.audit a
         LEFT JOIN approvals.events e ON e.aggregate = a.aggregate AND e.version = a.version AND e.type = a.type
        WHERE a.seq > ${String(after)} ORDER BY a.seq LIMIT ${String(PAGE)}`,
    );
    const lines = z.array(Row).parse(rows);
    for (const line of lines) take(line);
    after = lines.at(-1)?.seq ?? after;
    more = lines.length === PAGE;
  }
  const report = finish();
  const [counts] = await query(COUNTS);
  return {
    report,
    untold: Number(counts?.['untold'] ?? Number.NaN),
    toldTwice: Number(counts?.['twice'] ?? Number.NaN),
    heard: heard.length,
  };
};
