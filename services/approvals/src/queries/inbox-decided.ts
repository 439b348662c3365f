import { ApprovalStatus } from '@holdpoint/contracts/approval/status';
import type { ListApprovals } from '@holdpoint/contracts/approval/queries';
import {
  type Scan,
  scanPages,
  type ReadRows,
  pageOfScan,
  type CursorPage,
} from '@holdpoint/runtime/store/scan-pages';
import { hasWords } from '@holdpoint/runtime/store/search-words';
import type { Pool } from 'pg';
import { z } from 'zod';
import { requestWords, TARGET_MAX, written } from './inbox-filter.ts';
import type { Cursor } from './inbox-cursor.ts';

type DecidedQuery = Omit<ListApprovals, 'order' | 'after'>;

const Searched = z.object({
  task: z.string(),
  title: z.string(),
  effect: z.object({ uses: z.string(), target: z.string() }),
});

const Row = z.object({
  at: z.coerce.number(),
  id: z.string(),
  fits: z.boolean(),
  searched: Searched.nullable(),
  read: z.int(),
});

/** Compressed bytes of stored views that one query reads. */
const BYTES_MAX = 4 * 1_024 * 1_024;

/** The query in either direction. */
const textFor = (behind: '<' | '>', direction: 'ASC' | 'DESC'): string => `SELECT at, id, read::int, (
    ($4::text IS NULL OR inbox_token(view->'effect'->'kind') = $4)
    AND ($5::text IS NULL OR inbox_token(view->'risk') = $5)
    AND ($6::text IS NULL OR inbox_token(view->'task') = $6)
    AND ($7::text IS NULL OR (view->'requestedBy')::text = $7)
    AND ($8::text[] IS NULL OR EXISTS (SELECT FROM inbox_audience(view) AS member WHERE member = ANY ($8)))) AS fits,
    CASE WHEN $9 THEN json_build_object('task', view->'task', 'title', view->'title', 'effect', json_build_object(
      'uses', view->'effect'->'uses', 'target', left(view->'effect'->'target' #>> '{}', ${String(TARGET_MAX)}))) END AS searched
  FROM (
    SELECT created_at AS at, id, view, count(*) OVER () AS read,
           sum(bytes) OVER (ORDER BY created_at ${direction}, id ${direction}) - bytes AS bytes_before
      FROM (SELECT created_at, id, view, bytes
              FROM unnest($1::text[]) AS wanted,
                   LATERAL (SELECT created_at, id, view, pg_column_size(asked) AS bytes FROM requests
                             WHERE status = wanted AND (created_at, id) ${behind} ($2, $3)
                             ORDER BY created_at ${direction}, id ${direction} LIMIT $10) AS each
             ORDER BY created_at ${direction}, id ${direction} LIMIT $10) AS found) AS looked
  WHERE bytes_before < ${String(BYTES_MAX)}
  ORDER BY at ${direction}, id ${direction}`;

const QUERIES = {
  decided: { name: 'hp_decided', text: textFor('>', 'ASC') },
  newest: { name: 'hp_decided_newest', text: textFor('<', 'DESC') },
} as const;
type Direction = keyof typeof QUERIES;

const DECIDED = ApprovalStatus.options.filter((status) => status !== 'pending');

const lookAt =
  (
    pool: Pool,
    direction: Direction,
    { status, kind, risk, task, requester, audience, search }: DecidedQuery,
  ): ReadRows<Cursor> =>
  async ({ at, id }, most) => {
    const { rows } = await pool.query({
      ...QUERIES[direction],
      values: [
        status === 'decided' ? DECIDED : [status],
        at,
        id,
        kind ?? null,
        risk ?? null,
        task ?? null,
        requester === undefined ? null : written(requester),
        audience === undefined ? null : audience.map(written),
        search !== undefined,
        most,
      ],
    });
    const looked = z.array(Row).parse(rows);
    const read = looked[0]?.read ?? 0;
    return {
      rows: looked.map(({ searched, fits, ...row }) => ({
        ...row,
        rank: 0,
        fits: fits && (searched === null || hasWords(requestWords(searched), search ?? '')),
      })),
      ended: read < most && looked.length === read,
    };
  };

const LOOKED_MAX = 1_000;
const STEP = 250;

/**
 * A page of decided requests. It scans all requests of the status: with a rare filter a page may end before
 * it is full.
 */
export const decidedPage = async (
  pool: Pool,
  direction: Direction,
  decided: DecidedQuery,
  from: Cursor,
): Promise<CursorPage<Cursor>> => {
  const { kind, risk, task, requester, audience, search, limit } = decided;
  const wanted = limit + 1;
  const isFiltered = [kind, risk, task, requester, audience, search].some((each) => each !== undefined);
  const [most, step] = isFiltered ? [LOOKED_MAX, Math.max(STEP, wanted)] : [wanted, wanted];
  const start: Scan<Cursor> = { found: [], at: from, looked: 0, ended: false };
  return pageOfScan(await scanPages(lookAt(pool, direction, decided), start, { wanted, most, step }), limit);
};
