import type { ListApprovals } from '@holdpoint/contracts/approval/queries';
import {
  type Scan,
  scanPages,
  type ReadRows,
  pageOfScan,
  type CursorPage,
} from '@holdpoint/runtime/store/scan-pages';
import { queryOf } from '@holdpoint/runtime/store/search-words';
import type { Pool } from 'pg';
import { z } from 'zod';
import { branchesOf, type Filter, needsKindAndRisk, rankOf, written } from './inbox-filter.ts';
import type { Order, Cursor } from './inbox-cursor.ts';

type PendingQuery = Pick<
  ListApprovals,
  'limit' | 'audience' | 'kind' | 'risk' | 'task' | 'requester' | 'search'
> & {
  readonly order: Exclude<Order, 'decided'>;
};

const Row = z.object({ rank: z.int(), at: z.coerce.number(), id: z.string() });
const LookedRow = Row.extend({ fits: z.boolean() });
const FoundRows = z.object({ counted: z.int(), rows: z.array(Row) });

const columnOf = (order: Order): string => (order === 'expiring' ? 'expires_at' : 'requested_at');

const wayOf = (order: Order): { readonly after: '<' | '>'; readonly sort: 'ASC' | 'DESC' } =>
  order === 'newest' ? { after: '<', sort: 'DESC' } : { after: '>', sort: 'ASC' };

/**
 * Reads each branch as far as needed and merges them. A request with entries under several names appears
 * once.
 */
const branchText = (order: Order, classed: boolean, filter: Filter, searched: boolean): string => {
  const column = columnOf(order);
  const { after, sort } = wayOf(order);
  return `WITH page AS (
    SELECT DISTINCT b.rank, x.at, x.id
      FROM unnest($1::text[], $2::smallint[], $3::text[], $4::smallint[], $5::bigint[], $6::text[])
             AS b(member, risk, kind, rank, at, id)
     CROSS JOIN LATERAL (
       SELECT e.${column} AS at, e.id FROM inbox e
        WHERE e.member = b.member ${classed ? 'AND e.risk = b.risk AND e.kind = b.kind' : ''}
              ${filter.requester === undefined ? 'AND $8::text IS NULL' : 'AND e.requester = $8'}
          AND (e.${column}, e.id) ${after} (b.at, b.id)
        ORDER BY e.${column} ${sort}, e.id ${sort} LIMIT $7) x
     ORDER BY 1, 2 ${sort}, 3 ${sort} LIMIT $7)
  SELECT rank, at, id,
         ${searched ? `(SELECT i.words @@ $9::tsquery FROM inbox i WHERE i.id = page.id AND i.member = '')` : '$9::text IS NULL'} AS fits
    FROM page ORDER BY rank, at ${sort}, id ${sort}`;
};

/** The next rows that match the filter, each with whether the search words match. */
const lookAt =
  (pool: Pool, { order, ...filter }: PendingQuery, query: string | undefined): ReadRows<Cursor> =>
  async (from, most) => {
    const branches = branchesOf(filter, order, from);
    if (branches.length === 0) return { rows: [], ended: true };
    const classed = needsKindAndRisk(filter, order);
    const parts = [
      columnOf(order),
      wayOf(order).sort,
      classed,
      filter.requester !== undefined,
      query !== undefined,
    ];
    const { rows } = await pool.query({
      name: `hp_inbox_${parts.map(String).join('_')}`,
      text: branchText(order, classed, filter, query !== undefined),
      values: [
        branches.map(({ member }) => member),
        branches.map(({ risk }) => risk),
        branches.map(({ kind }) => kind),
        branches.map(({ rank }) => rank),
        branches.map(({ at }) => at),
        branches.map(({ id }) => id),
        most,
        filter.requester === undefined ? null : written(filter.requester),
        query ?? null,
      ],
    });
    return { rows: z.array(LookedRow).parse(rows), ended: rows.length < most };
  };

/** Searches by task or by rare words first, and then filters. Undefined when more than `most` rows match. */
const findBy = async (
  pool: Pool,
  { order, limit, audience, kind, risk, task, requester }: PendingQuery,
  query: string | undefined,
  from: Cursor,
  most: number | null,
): Promise<CursorPage<Cursor> | undefined> => {
  const rank = order === 'risk' ? 'risk' : '0::smallint';
  const { after, sort } = wayOf(order);
  const by = [
    "i.member = ''",
    ...(task === undefined ? [] : ['i.task = $1']),
    ...(query === undefined ? [] : ['i.words @@ $2::tsquery']),
  ].join(' AND ');
  const { rows } = await pool.query({
    name: `hp_inbox_by_${String(task !== undefined)}_${String(query !== undefined)}_${order}`,
    text: `WITH found AS MATERIALIZED (
        SELECT i.id, i.${columnOf(order)} AS at, i.risk, i.kind, i.requester FROM inbox i WHERE ${by} LIMIT $3),
      page AS (
        SELECT ${rank} AS rank, f.at, f.id FROM found f
         WHERE (${rank}, f.at, f.id) ${after} ($4, $5, $6)
           AND ($7::text IS NULL OR f.kind = $7) AND ($8::smallint IS NULL OR f.risk = $8)
           AND ($9::text IS NULL OR f.requester = $9)
           AND ($10::text[] IS NULL OR EXISTS (
                 SELECT FROM inbox e WHERE e.id = f.id AND e.member = ANY ($10)))
         ORDER BY 1, 2 ${sort}, 3 ${sort} LIMIT $11)
      SELECT (SELECT count(*)::int FROM found) AS counted,
             (SELECT coalesce(json_agg(page ORDER BY rank, at ${sort}, id ${sort}), '[]') FROM page) AS rows,
             $1::text, $2::text`,
    values: [
      task ?? null,
      query ?? null,
      most === null ? null : most + 1,
      from.rank,
      from.at,
      from.id,
      kind ?? null,
      risk === undefined ? null : rankOf(risk),
      requester === undefined ? null : written(requester),
      audience === undefined ? null : audience.map(written),
      limit + 1,
    ],
  });
  const { counted, rows: found } = FoundRows.parse(rows[0]);
  if (most !== null && counted > most) return undefined;
  return pageOfScan<Cursor>({ found, at: from, ended: true }, limit);
};

/** Rows scanned for common words before the words count as rare. */
const LOOKED_FIRST = 1_000;
/** Matches of rare words that may be sorted as a whole. */
const RARE_MAX = 5_000;
/** Rows scanned before a page ends early. */
const LOOKED_MAX = 5_000;
const STEP = 250;

/**
 * A page of pending requests. Its cost is bounded for every filter: with words that are neither common nor
 * rare a page may end before it is full.
 */
export const pendingPage = async (
  pool: Pool,
  pending: PendingQuery,
  from: Cursor,
): Promise<CursorPage<Cursor>> => {
  const { limit, task, search } = pending;
  const query = queryOf(search);
  const start: Scan<Cursor> = { found: [], at: from, looked: 0, ended: false };
  const wanted = limit + 1;
  if (task !== undefined) {
    const page = await findBy(pool, pending, query, from, null);
    return page ?? { places: [] };
  }
  const look = lookAt(pool, pending, query);
  if (query === undefined)
    return pageOfScan(await scanPages(look, start, { wanted, most: wanted, step: wanted }), limit);
  const step = Math.max(STEP, wanted);
  const first = await scanPages(look, start, { wanted, most: LOOKED_FIRST, step });
  if (first.ended || first.found.length >= wanted) return pageOfScan(first, limit);
  const rare = await findBy(pool, pending, query, from, RARE_MAX);
  return rare ?? pageOfScan(await scanPages(look, first, { wanted, most: LOOKED_MAX, step }), limit);
};
