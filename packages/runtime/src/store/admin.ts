import { COUNTED_BACK_MS, COUNTED_MAX, type Counts, type Retention } from '@holdpoint/contracts/api/admin';
import type { Pool } from 'pg';
import { z } from 'zod';

const Time = z.coerce.number().int();

const MS = (expression: string): string => `(extract(epoch FROM ${expression}) * 1000)::bigint`;

const Database = z.object({
  version: z.string(),
  clock: Time,
  bytes: z.coerce.number().int(),
});

/** The version and clock of the server, and the size of the database on disk. */
export const readDatabase = async (pool: Pool): Promise<z.infer<typeof Database>> => {
  const { rows } = await pool.query(
    `SELECT current_setting('server_version') AS version, ${MS('clock_timestamp()')} AS clock,
            pg_database_size(current_database()) AS bytes`,
  );
  return Database.parse(rows[0]);
};

const Migration = z.object({ name: z.string() });

/** The applied migrations, oldest first. */
export const appliedMigrations = async (pool: Pool): Promise<readonly string[]> => {
  const { rows } = await pool.query('SELECT name FROM kysely_migration ORDER BY name');
  return z
    .array(Migration)
    .parse(rows)
    .map(({ name }) => name);
};

const Open = z.object({ status: z.string(), count: z.coerce.number().int(), oldest: Time });
const Ended = Open.omit({ oldest: true });

const sum = (rows: readonly { readonly count: number }[]): number =>
  rows.reduce((total, { count }) => total + count, 0);

/** Counts are bounded, so that they cannot slow the system down. */
export const readCounts = async (pool: Pool): Promise<Counts> => {
  const [open, ended] = await Promise.all([
    pool.query(
      `SELECT status, count(*) AS count, min(created_at) AS oldest
         FROM (SELECT status, created_at FROM heads WHERE finished_at IS NULL ORDER BY created_at LIMIT $1) h
        GROUP BY status ORDER BY status`,
      [COUNTED_MAX + 1],
    ),
    pool.query(
      `SELECT status, count(*) AS count
         FROM (SELECT status FROM heads
                WHERE finished_at > clock_timestamp() - $2 * interval '1 millisecond'
                ORDER BY finished_at DESC LIMIT $1) h
        GROUP BY status ORDER BY status`,
      [COUNTED_MAX + 1, COUNTED_BACK_MS],
    ),
  ]);
  const counts = { open: z.array(Open).parse(open.rows), ended: z.array(Ended).parse(ended.rows) };
  return { ...counts, more: sum(counts.open) > COUNTED_MAX || sum(counts.ended) > COUNTED_MAX };
};

const Kept = z.object({
  keepDays: z.coerce.number(),
  purged: z.coerce.number().int(),
  ended: z.coerce.number().int(),
  due: z.coerce.number().int(),
  oldest: Time.nullable(),
});
const Table = z.object({ name: z.string(), bytes: z.coerce.number().int() });

/** Ended aggregates, and how many of them are past the retention of the schema, or past `keepDays`. */
export const readRetention = async (pool: Pool, keepDays?: number): Promise<Retention> => {
  const [kept, tables] = await Promise.all([
    pool.query(
      `SELECT extract(epoch FROM keep) / 86400 AS "keepDays", purged,
              (SELECT count(*) FROM (SELECT FROM heads WHERE finished_at IS NOT NULL LIMIT $1) h) AS ended,
              (SELECT count(*) FROM (SELECT FROM heads
                WHERE finished_at < now() - coalesce(make_interval(days => $2::int), keep) LIMIT $1) h) AS due,
              (SELECT ${MS('min(finished_at)')} FROM heads WHERE finished_at IS NOT NULL) AS oldest
         FROM retention`,
      [COUNTED_MAX, keepDays ?? null],
    ),
    pool.query(
      `SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY relname`,
    ),
  ]);
  const { oldest, ...rest } = Kept.parse(kept.rows[0]);
  return {
    ...rest,
    ...(oldest !== null && { oldestEndedAt: oldest }),
    tables: z.array(Table).parse(tables.rows),
  };
};
