import {
  type Scan,
  scanPages,
  type ReadRows,
  pageOfScan,
  type CursorPage,
} from '@holdpoint/runtime/store/scan-pages';
import type { Cursor } from '@holdpoint/runtime/store/page';
import { typedQueryOf } from '@holdpoint/runtime/store/search-words';
import type { Pool } from 'pg';
import { z } from 'zod';
import { type Filter, flowOf, isExact, type Path, pathFor } from './task-filter.ts';

const Row = z.object({ at: z.coerce.number(), id: z.string() });
const LookedRow = Row.extend({ fits: z.boolean() });
const Found = z.object({ counted: z.int(), rows: z.array(Row) });

/** The ordered sources of a list, with their conditions; `$1` is the key of the path. */
const PATHS: Readonly<Record<Path, string>> = {
  latest: `heads p WHERE p.kind <> 'registry' AND p.status <> 'tombstone' AND $1::text IS NULL`,
  phase: 'heads p WHERE p.status = $1',
  requester: 'listed p WHERE p.requester = $1',
  flow: 'listed p WHERE p.flow = $1',
};

const keyOf = (path: Path, { phase, requestedBy, workflow }: Filter): string | null => {
  switch (path) {
    case 'latest':
      return null;
    case 'phase':
      return phase ?? null;
    case 'requester':
      return requestedBy ?? null;
    case 'flow':
      return flowOf(workflow ?? '');
  }
};

const COLUMNS = ['h.status', 'l.requester', 'l.flow', 'l.workflow'] as const;
/** The other filters, as SQL parameters from `$first` on. */
const fitsFrom = (first: number): string =>
  COLUMNS.map((column, i) => {
    const asked = `$${String(first + i)}`;
    return `(${asked}::text IS NULL OR ${column} = ${asked})`;
  }).join(' AND ');
const valuesOf = ({ phase, requestedBy, workflow }: Filter): readonly (string | null)[] => [
  phase ?? null,
  requestedBy ?? null,
  workflow === undefined ? null : flowOf(workflow),
  workflow?.includes('@') === true ? workflow : null,
];

const fitsText = (path: Path): string =>
  `(SELECT ${fitsFrom(6)} AND ($10::text IS NULL OR l.words @@ $10::tsquery)
      FROM ${path === 'latest' || path === 'phase' ? 'listed l WHERE l.id = h.id' : 'heads h WHERE h.id = l.id'})`;

const textFor = (path: Path, exact: boolean): string => {
  const alias = path === 'latest' || path === 'phase' ? 'h' : 'l';
  const page = `SELECT p.* FROM ${PATHS[path]} AND (p.created_at, p.id) < ($2, $3) AND p.created_at >= $4
    ORDER BY p.created_at DESC, p.id DESC LIMIT $5`;
  return `SELECT created_at AS at, id, ${exact ? 'true' : `coalesce(${fitsText(path)}, false)`} AS fits
    FROM (${page}) ${alias} ORDER BY created_at DESC, id DESC`;
};

/** The next rows on the path, each with whether it matches all filters. */
const lookAt = (pool: Pool, filter: Filter, query: string | undefined): ReadRows<Cursor> => {
  const [path, exact] = [pathFor(filter), isExact(filter)];
  return async (from, most) => {
    const { rows } = await pool.query({
      name: `hp_tasks_${path}_${exact ? 'exact' : 'looked'}`,
      text: textFor(path, exact),
      values: [
        keyOf(path, filter),
        from.at,
        from.id,
        filter.createdAfter ?? 0,
        most,
        ...(exact ? [] : [...valuesOf(filter), query ?? null]),
      ],
    });
    return { rows: z.array(LookedRow).parse(rows), ended: rows.length < most };
  };
};

/** Reads the matches of rare words by index and sorts them. Undefined when there are more than `most`. */
const findByWords = async (
  pool: Pool,
  filter: Filter,
  query: string,
  from: Cursor,
  { limit, most }: { readonly limit: number; readonly most: number },
): Promise<CursorPage<Cursor> | undefined> => {
  const { rows } = await pool.query({
    name: 'hp_tasks_words',
    text: `WITH found AS MATERIALIZED (
        SELECT l.id, l.created_at, l.requester, l.flow, l.workflow FROM listed l
         WHERE l.words @@ $1::tsquery LIMIT $2),
      page AS (
        SELECT l.created_at AS at, l.id FROM found l JOIN heads h ON h.id = l.id
         WHERE (l.created_at, l.id) < ($3, $4) AND l.created_at >= $5 AND ${fitsFrom(7)}
         ORDER BY l.created_at DESC, l.id DESC LIMIT $6)
      SELECT (SELECT count(*)::int FROM found) AS counted,
             (SELECT coalesce(json_agg(page ORDER BY at DESC, id DESC), '[]') FROM page) AS rows`,
    values: [query, most + 1, from.at, from.id, filter.createdAfter ?? 0, limit + 1, ...valuesOf(filter)],
  });
  const { counted, rows: found } = Found.parse(rows[0]);
  return counted > most ? undefined : pageOfScan<Cursor>({ found, at: from, ended: true }, limit);
};

/** Bounds on the work for one page. */
export type Bounds = {
  /** After so many tasks without a match, the words count as rare. */
  readonly first: number;
  /** Words with no more matches than this are sorted in full. */
  readonly rare: number;
  /** A page ends after this many tasks, full or not. */
  readonly all: number;
  readonly step: number;
};
export const BOUNDS: Bounds = { first: 1_000, rare: 20_000, all: 5_000, step: 500 };

/**
 * A page of tasks, latest first, after a cursor. The work is bounded for every filter and any number of
 * tasks, so a page may be shorter than its limit.
 */
export const taskPlaces = async (
  pool: Pool,
  filter: Filter,
  { limit, from }: { readonly limit: number; readonly from: Cursor },
  bounds: Bounds = BOUNDS,
): Promise<CursorPage<Cursor>> => {
  const query = typedQueryOf(filter.search);
  const asked = query === undefined ? { ...filter, search: undefined } : filter;
  const start: Scan<Cursor> = { found: [], at: from, looked: 0, ended: false };
  const wanted = limit + 1;
  const look = lookAt(pool, asked, query);
  if (isExact(asked))
    return pageOfScan(await scanPages(look, start, { wanted, most: wanted, step: wanted }), limit);
  const step = Math.max(bounds.step, wanted);
  const most = query === undefined ? bounds.all : bounds.first;
  const first = await scanPages(look, start, { wanted, most, step });
  if (query === undefined || first.ended || first.found.length >= wanted) return pageOfScan(first, limit);
  const rare = await findByWords(pool, asked, query, from, { limit, most: bounds.rare });
  return rare ?? pageOfScan(await scanPages(look, first, { wanted, most: bounds.all, step }), limit);
};
