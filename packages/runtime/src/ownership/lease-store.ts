import { type Kysely, sql } from 'kysely';
import type { Pool } from 'pg';
import { z } from 'zod';
import { Fenced } from '../engine/ports.ts';
import type { CommitGuard } from '../store/commit-guard.ts';
import { codeOf } from '../store/pool.ts';
import { type Lease, LEASE_MS, type LeaseStore } from './lease.ts';

/** One row: which process decides for the service. The session is that of its latest renewal. */
export const createOwnershipTable = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE ownership (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    owner text,
    epoch bigint NOT NULL DEFAULT 0,
    until timestamptz NOT NULL DEFAULT '-infinity',
    session int,
    session_start timestamptz
  ) WITH (fillfactor = 50)`.execute(db);
  await sql`INSERT INTO ownership DEFAULT VALUES`.execute(db);
};

const LEASE = `interval '${String(LEASE_MS)} milliseconds'`;
/** The server's clock may be corrected while a lease runs. A lease beyond this was made by another clock. */
const MOST = `interval '${String(LEASE_MS * 2)} milliseconds'`;

/**
 * The lease of a process that has ended is free at once, because the server has closed its session. Another role may not see
 * when a session began; its lease runs out.
 */
const ENDED = `o.session IS NOT NULL AND NOT EXISTS (
  SELECT FROM pg_stat_get_activity(o.session) a WHERE a.backend_start IS NULL OR a.backend_start = o.session_start)`;

// A renewal need not be durable: a server that loses it finds an older lease, and the fence holds. What the new owner commits
// is durable, and the takeover before it with it.
const LOOK = `WITH
    relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS setting),
    mine AS MATERIALIZED (SELECT pid, backend_start FROM relaxed, pg_stat_get_activity(pg_backend_pid())),
    held AS (
      UPDATE ownership o SET owner = $1, epoch = o.epoch + (o.owner IS DISTINCT FROM $1)::int,
             until = clock_timestamp() + ${LEASE}, session = mine.pid, session_start = mine.backend_start
        FROM mine
       WHERE o.one AND (o.owner IS NULL OR o.owner = $1 OR o.until <= clock_timestamp()
          OR o.until > clock_timestamp() + ${MOST} OR (${ENDED}))
      RETURNING o.epoch)
  SELECT true AS "isMine", epoch, 0 AS "leftMs" FROM held
  UNION ALL
  SELECT false, epoch, greatest(0, extract(epoch FROM until - clock_timestamp()) * 1000)
    FROM ownership WHERE one AND NOT EXISTS (SELECT FROM held)`;

const RELEASE = `UPDATE ownership SET owner = NULL, until = '-infinity' WHERE one AND owner = $1`;

/** Locks of a process that froze within a transaction would hold up its successor. */
const END_STUCK = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE usename = current_user AND datname = current_database() AND pid <> pg_backend_pid()
    AND application_name = current_setting('application_name') AND state = 'idle in transaction' AND state_change < clock_timestamp() - interval '1 second'`;

const Row = z.object({
  isMine: z.boolean(),
  epoch: z.coerce.number().int(),
  leftMs: z.coerce.number(),
});

/** The lease of the service to which the connections belong. `owner` names one life of a process. */
export const createLeaseStore = (pool: Pool, owner: string): LeaseStore => ({
  look: async (): Promise<Lease> => {
    const { rows } = await pool.query({ name: 'hp_lease', text: LOOK, values: [owner] });
    return Row.parse(rows[0]);
  },
  release: async () => {
    await pool.query(RELEASE, [owner]);
  },
});

const Owner = z.object({ process: z.string().nullable(), epoch: z.coerce.number().int() });

/** The process that holds the lease, if one does, and the number of takeovers. */
export const readOwner = async (
  pool: Pool,
): Promise<{ readonly process?: string; readonly epoch: number }> => {
  const { rows } = await pool.query(
    `SELECT CASE WHEN until > clock_timestamp() THEN owner END AS process, epoch FROM ownership`,
  );
  const { process, epoch } = Owner.parse(rows[0]);
  return { epoch, ...(process !== null && { process }) };
};

/** Ends the transactions that a frozen process has left open on connections like these. */
export const endStuckTransactions = async (pool: Pool): Promise<number> =>
  (await pool.query(END_STUCK)).rowCount ?? 0;

const DIVISION_BY_ZERO = '22012';

/**
 * Lets a commit pass only while this process owns the service. A takeover waits for the commit: its update of the row and
 * this lock exclude each other. `epoch` is undefined in a process that owns nothing.
 */
export const ownershipFence = (
  schema: string,
  owner: string,
  epoch: () => number | undefined,
): CommitGuard => {
  const text = `SELECT 1 / count(*) FROM (
    SELECT FROM "${schema}".ownership WHERE one AND owner = $1 AND epoch = $2 FOR SHARE) held`;
  return {
    statement: () => ({ name: `hp_fence_${schema}`, text, values: [owner, epoch() ?? -1] }),
    passed: () => undefined,
    isRefusal: (error) => codeOf(error) === DIVISION_BY_ZERO,
    refusal: (cause) => new Fenced(`another process owns ${schema}`, { cause }),
  };
};
