import { ApprovalView } from '@holdpoint/contracts/approval/views';
import { JsonObject } from '@holdpoint/contracts/values/json';
import type { Pool } from 'pg';
import { z } from 'zod';

/** A position in the audit log; the hash detects that the log was restored to another history. */
export type LogPosition = { readonly seq: number; readonly hash: string };

export type LogLine = LogPosition & {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly aggregate: string;
  readonly type: string;
  /** JSON. */
  readonly entry: string;
};

const Head = z.object({ seq: z.coerce.number(), hash: z.string() });
const Row = Head.extend({
  at: z.coerce.number(),
  aggregate: z.string(),
  type: z.string(),
  entry: z.string(),
});

export const readHead = async (pool: Pool): Promise<LogPosition> => {
  const { rows } = await pool.query('SELECT seq, hash FROM audit_head');
  return Head.parse(rows[0]);
};

/** Up to `limit` lines from `from` on, in order. */
export const readLines = async (pool: Pool, from: number, limit: number): Promise<readonly LogLine[]> => {
  const { rows } = await pool.query({
    name: 'feed-lines',
    text: "SELECT seq, encode(hash, 'hex') AS hash, at, aggregate, type, entry FROM audit WHERE seq >= $1 ORDER BY seq LIMIT $2",
    values: [from, limit],
  });
  return z.array(Row).parse(rows);
};

/** Current views of approvals; without those that were withdrawn before their request, or purged. */
export const readViews = async (
  pool: Pool,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ApprovalView>> => {
  if (ids.length === 0) return new Map();
  const { rows } = await pool.query<{ id: string; view: unknown }>({
    name: 'feed-views',
    text: 'SELECT id, view FROM requests WHERE id = ANY($1)',
    values: [ids],
  });
  return new Map(
    rows.flatMap(({ id, view }) => {
      const { data } = ApprovalView.safeParse(view);
      return data === undefined ? [] : [[id, data] as const];
    }),
  );
};

export const entryOf = ({ entry }: LogLine): JsonObject => JsonObject.parse(JSON.parse(entry));
