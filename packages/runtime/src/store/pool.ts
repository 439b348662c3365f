import pg from 'pg';
import type { Logger } from '../observability/log.ts';

export type PoolSettings = {
  readonly url: string;
  readonly password: string | undefined;
  readonly schema: string;
  /** Shown in `pg_stat_activity`. */
  readonly name: string;
  readonly max: number;
  /** A connection that shows by its end that the process has ended: it is never closed for its age. */
  readonly isLasting?: boolean;
  /** The connections run only statements that look rows up by key. Their plans do not depend on the values. */
  readonly isKeyed?: boolean;
};

/**
 * Connections to the service's own schema. Queries on one connection are pipelined.
 * After a client-side timeout a connection is destroyed, never handed out again.
 */
export const createPool = (
  { url, password, schema, name, max, isLasting = false, isKeyed = false }: PoolSettings,
  log: Logger,
): pg.Pool => {
  const pool = new pg.Pool({
    connectionString: withPassword(url, password),
    options: [`search_path=${schema}`, ...PLANNING, ...(isKeyed ? PLANNED_ONCE : [])]
      .map((setting) => `-c ${setting}`)
      .join(' '),
    application_name: name,
    max,
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: 3_000,
    // Above the intervals of periodic reads: to connect costs more than all of them. Each connection is a process of its own.
    idleTimeoutMillis: 20_000,
    // Above the role's statement_timeout of 5 s, so that normally the server reports the timeout.
    query_timeout: 7_000,
    ...(isLasting ? { idleTimeoutMillis: 0 } : { maxLifetimeSeconds: 1_800 }),
  });
  const lost = (error: Error): void => log.warn({ code: codeOf(error) }, 'database connection lost');
  pool.on('error', lost);
  // The pool does not report errors of checked-out clients; an unhandled one would end the process.
  pool.on('connect', (client) => client.on('error', lost));
  return pool;
};

/**
 * Every hot statement looks rows up by key. Prepared while its table is new, it would be planned as a scan of
 * an empty table and keep scanning until statistics exist, so these plans are disabled.
 */
const PLANNING = ['enable_seqscan=off', 'enable_hashjoin=off', 'enable_mergejoin=off'];

/**
 * By default the server plans a statement for its values while that is cheaper than its generic plan. As tables grow, the generic
 * plan costs more than the earlier plans did, so the server would plan each write again.
 */
const PLANNED_ONCE = ['plan_cache_mode=force_generic_plan'];

/** The library ignores a separate password. The URL has to contain it. */
const withPassword = (url: string, password: string | undefined): string => {
  const complete = new URL(url);
  if (password !== undefined) complete.password = encodeURIComponent(password);
  return complete.href;
};

/** SQLSTATE or system code. The message stays out of logs: it may carry values. */
export const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown';
