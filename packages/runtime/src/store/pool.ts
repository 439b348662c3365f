import pg from 'pg';
import type { Logger } from '../observability/log.ts';

export type PoolSettings = {
  readonly url: string;
  readonly password: string | undefined;
  readonly schema: string;
  /** Shown in `pg_stat_activity`. */
  readonly name: string;
  readonly max: number;
};

/**
 * Connections to the service's own schema. Queries on one connection are pipelined.
 * After a client-side timeout a connection is destroyed, never handed out again.
 */
export const createPool = ({ url, password, schema, name, max }: PoolSettings, log: Logger): pg.Pool => {
  const pool = new pg.Pool({
    connectionString: withPassword(url, password),
    options: [`search_path=${schema}`, ...PLANNING].map((setting) => `-c ${setting}`).join(' '),
    application_name: name,
    max,
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: 3_000,
    // Above the role's statement_timeout of 5 s, so that normally the server speaks first.
    query_timeout: 7_000,
    maxLifetimeSeconds: 1_800,
  });
  const lost = (error: Error): void => log.warn({ code: codeOf(error) }, 'database connection lost');
  pool.on('error', lost);
  // The pool's listener does not hear of clients that are checked out; unheard, their error would end the process.
  pool.on('connect', (client) => client.on('error', lost));
  return pool;
};

/**
 * Every statement on the hot path looks rows up by key. Prepared while its table is new, it would be planned as a scan of
 * an empty table, and go on scanning while the table grows, until statistics are gathered: so plans of that kind are out.
 */
const PLANNING = ['enable_seqscan=off', 'enable_hashjoin=off', 'enable_mergejoin=off'];

/** A password beside a connection string is ignored by the library, so it goes in. */
const withPassword = (url: string, password: string | undefined): string => {
  const complete = new URL(url);
  if (password !== undefined) complete.password = encodeURIComponent(password);
  return complete.href;
};

/** SQLSTATE or system code. The message stays out of logs: it may carry values. */
export const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown';
