import { AuditLine } from '@holdpoint/contracts/audit/audit';
import { AUDIT_ID } from '@holdpoint/contracts/values/ids';
import { RUN_MAX_EVENTS } from '@holdpoint/runtime/store/encode';
import type { Pool } from 'pg';
import { z } from 'zod';

const MILLIS = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::bigint`;

/**
 * Lines with the hash of the stored event. An event of another type or time counts as gone. Where the
 * aggregate itself is gone it was purged; a later aggregate of the same id is a different one.
 */
const LINES = `
  SELECT a.seq::text, a.at::text, a.aggregate, a.version, a.type, encode(a.event_sha256, 'hex') AS "eventSha256", a.entry,
         encode(a.previous, 'hex') AS previous, encode(a.hash, 'hex') AS hash,
         encode(sha256(convert_to(e.data::text, 'UTF8')), 'hex') AS "storedSha256",
         e.aggregate IS NULL AND EXISTS (SELECT FROM heads h WHERE h.id = a.aggregate AND h.created_at <= a.at) AS "eventGone"
    FROM audit a
    LEFT JOIN events e ON e.aggregate = a.aggregate AND e.version = a.version AND e.type = a.type AND ${MILLIS('e.at')} = a.at
          AND e.run > a.version - ${String(RUN_MAX_EVENTS)} AND e.run <= a.version`;

const Row = AuditLine.extend({
  seq: z.coerce.number().int(),
  at: z.coerce.number().int(),
  storedSha256: z
    .string()
    .nullable()
    .transform((text) => text ?? undefined),
  eventGone: z.boolean().transform((gone) => (gone ? (true as const) : undefined)),
});

export type AuditPage = {
  /** Lines after this one. */
  readonly after: number;
  readonly limit: number;
  /** Only of this approval, rule or token. */
  readonly about?: string | undefined;
};

/** Bytes of one answer: a message on the bus has at most 1 MiB, including its envelope. */
const ANSWER_MAX_BYTES = 700_000;

/** The lines that fit into an answer, but at least one, so that a page always makes progress. */
const fitting = (lines: readonly AuditLine[]): readonly AuditLine[] => {
  let bytes = 0;
  const end = lines.findIndex((line) => {
    bytes += Buffer.byteLength(JSON.stringify(line)) + 1;
    return bytes > ANSWER_MAX_BYTES;
  });
  return end < 0 ? lines : lines.slice(0, Math.max(1, end));
};

/** A page of the audit log, in order. */
export const listAudit = async (
  pool: Pool,
  { after, limit, about }: AuditPage,
): Promise<{ items: AuditLine[]; more: boolean }> => {
  const { rows } = await pool.query({
    name: about === undefined ? 'hp_audit' : 'hp_audit_about',
    text: `${LINES} WHERE a.seq > $1 ${about === undefined ? '' : 'AND a.aggregate = $3'} ORDER BY a.seq LIMIT $2`,
    values: [after, limit + 1, ...(about === undefined ? [] : [about])],
  });
  const lines = z.array(Row).parse(rows);
  const items = fitting(lines.slice(0, limit));
  return { items: [...items], more: lines.length > items.length };
};

const Head = z.object({
  seq: z.coerce.number().int(),
  hash: z.string(),
  now: z.coerce.number(),
  /** Line, time and content of the last anchor. */
  anchorSeq: z.coerce.number().int().nullable(),
  anchoredAt: z.coerce.number().nullable(),
  anchorEntry: z.string().nullable(),
});
const AnchorEntry = z.object({ seq: z.int(), hash: z.string() });

export type AuditHead = {
  readonly seq: number;
  readonly hash: string;
  /** The database's clock. Epoch milliseconds. */
  readonly now: number;
  readonly anchor:
    | { readonly line: number; readonly at: number; readonly seq: number; readonly hash: string }
    | undefined;
};

/** Head of the log, and its last anchor. */
export const readAuditHead = async (pool: Pool): Promise<AuditHead> => {
  const { rows } = await pool.query({
    name: 'hp_audit_head',
    text: `SELECT h.seq::text, h.hash, ${MILLIS('clock_timestamp()')}::text AS now,
                  a.seq::text AS "anchorSeq", a.at::text AS "anchoredAt", a.entry AS "anchorEntry"
             FROM audit_head h
             LEFT JOIN LATERAL (SELECT seq, at, entry FROM audit WHERE aggregate = $1 ORDER BY seq DESC LIMIT 1) a ON true`,
    values: [AUDIT_ID],
  });
  const { anchorSeq, anchoredAt, anchorEntry, ...head } = Head.parse(rows[0]);
  if (anchorSeq === null || anchoredAt === null || anchorEntry === null)
    return { ...head, anchor: undefined };
  return {
    ...head,
    anchor: { line: anchorSeq, at: anchoredAt, ...AnchorEntry.parse(JSON.parse(anchorEntry)) },
  };
};

export const readAuditHash = async (pool: Pool, seq: number): Promise<string | undefined> => {
  const { rows } = await pool.query({
    name: 'hp_audit_hash',
    text: "SELECT encode(hash, 'hex') AS hash FROM audit WHERE seq = $1",
    values: [seq],
  });
  return z.array(z.object({ hash: z.string() })).parse(rows)[0]?.hash;
};
