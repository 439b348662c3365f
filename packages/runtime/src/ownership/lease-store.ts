import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { Pool } from 'pg';
import { z } from 'zod';
import { Fenced } from '../engine/ports.ts';
import type { CommitGuard } from '../store/commit-guard.ts';
import { isSqlState } from '../store/errors.ts';
import { codeOf, createPool, type PoolSettings } from '../store/pool.ts';
import type { Logger } from '../observability/log.ts';
import { CALM_MS, type Lease, LEASE_MAX_MS, LEASE_MS, type LeaseStore } from './lease.ts';

const MS = `interval '1 millisecond'`;

/**
 * The lease of a process that has ended is free at once, because the server has closed its session. Another role may not see
 * when a session began; its lease runs out.
 */
const ENDED = `o.session IS NOT NULL AND NOT EXISTS (
  SELECT FROM pg_stat_get_activity(o.session) a WHERE a.backend_start IS NULL OR a.backend_start = o.session_start)`;

const IS_OVER = 'o.until <= clock_timestamp()';
/** The server's clock may be corrected while a lease runs. A lease beyond this was made by another clock. */
const IS_IMPOSSIBLE = `o.until > clock_timestamp() + 2 * o.lasts_ms * ${MS}`;
const RAN_OUT = `o.owner IS NOT NULL AND ${IS_OVER} AND NOT (${ENDED})`;
const LASTS = `CASE WHEN o.ran_out < clock_timestamp() - ${String(CALM_MS)} * ${MS} THEN ${String(LEASE_MS)}
                    WHEN ${RAN_OUT} THEN least(2 * o.lasts_ms, ${String(LEASE_MAX_MS)}) ELSE o.lasts_ms END`;

/** A row that stays locked holds up the other services of the statement: less than the time between their renewals. */
const LOCKED_FOR = '500ms';

const table = (service: ServiceName): string => `"${service}".ownership`;

/** Renews or takes the lease of one service, and reads the row otherwise. */
const lookAt = (service: ServiceName, index: number) => {
  const [held, owner] = [`held_${service}`, `$${String(index + 1)}::text`];
  return {
    take: `${held} AS (
      UPDATE ${table(service)} o SET owner = ${owner}, epoch = o.epoch + (o.owner IS DISTINCT FROM ${owner})::int,
             (lasts_ms, until) = (SELECT lasts, clock_timestamp() + lasts * ${MS} FROM (SELECT ${LASTS} AS lasts) next),
             ran_out = CASE WHEN ${RAN_OUT} THEN clock_timestamp() ELSE o.ran_out END,
             session = mine.pid, session_start = mine.backend_start
        FROM mine
       WHERE o.one AND (o.owner IS NULL OR o.owner = ${owner} OR ${IS_OVER} OR ${IS_IMPOSSIBLE} OR (${ENDED}))
      RETURNING o.epoch, o.lasts_ms)`,
    read: `SELECT '${service}' AS service, true AS "isMine", epoch, lasts_ms AS "lastsMs", 0 AS "leftMs" FROM ${held}
    UNION ALL
    SELECT '${service}', false, epoch, lasts_ms, greatest(0, extract(epoch FROM until - clock_timestamp()) * 1000)
      FROM ${table(service)} WHERE one AND NOT EXISTS (SELECT FROM ${held})`,
  };
};

// A renewal need not be durable: a server that loses it finds an older lease, and the fence holds. What the new owner commits
// is durable, and the takeover before it with it.
const lookText = (services: readonly ServiceName[]): string => {
  const looks = services.map(lookAt);
  return `WITH
    relaxed AS MATERIALIZED (
      SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '${LOCKED_FOR}', true)),
    mine AS MATERIALIZED (SELECT pid, backend_start FROM relaxed, pg_stat_get_activity(pg_backend_pid())),
    ${looks.map(({ take }) => take).join(',\n    ')}
    ${looks.map(({ read }) => read).join('\n    UNION ALL\n    ')}`;
};

/** Locks of a process that froze within a transaction would hold up its successor. */
const END_STUCK = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE usename = current_user AND datname = current_database() AND pid <> pg_backend_pid()
    AND application_name = current_setting('application_name') AND state = 'idle in transaction' AND state_change < clock_timestamp() - interval '1 second'`;

const Row = z.object({
  service: z.string(),
  isMine: z.boolean(),
  epoch: z.coerce.number().int(),
  lastsMs: z.int(),
  leftMs: z.coerce.number(),
});

/** One connection that lasts: the server sees by its end that the process has ended. */
export const createLeasePool = (database: Omit<PoolSettings, 'max' | 'isLasting'>, log: Logger): Pool =>
  createPool({ ...database, max: 1, isLasting: true }, log);

/** The services that look in one turn of the process, with their owners, and their leases. */
type Round = {
  readonly owners: Map<ServiceName, string>;
  readonly found: Promise<ReadonlyMap<string, Lease>>;
};

/** The leases that one connection keeps. Services that look in the same turn of the process share a statement. */
export const createLeases = (pool: Pool) => {
  let gathering: Round | undefined;

  const ask = async (owners: ReadonlyMap<ServiceName, string>): Promise<ReadonlyMap<string, Lease>> => {
    const services = [...owners.keys()].toSorted();
    const { rows } = await pool.query({
      name: `hp_lease_${services.join('_')}`,
      text: lookText(services),
      values: services.map((service) => owners.get(service)),
    });
    return new Map(
      rows.map((row) => {
        const { service, ...lease } = Row.parse(row);
        return [service, lease];
      }),
    );
  };

  const gather = (): Round => {
    const owners = new Map<ServiceName, string>();
    const found = new Promise<void>((resolve) => void setImmediate(resolve)).then(() => {
      gathering = undefined;
      return ask(owners);
    });
    return { owners, found };
  };

  const look = async (service: ServiceName, owner: string): Promise<Lease> => {
    const { owners, found } = (gathering ??= gather());
    owners.set(service, owner);
    const leases = await found.catch((error: unknown) => {
      // A service whose row is locked or missing must not cost the others their leases.
      if (owners.size > 1 && isSqlState(error)) return ask(new Map([[service, owner]]));
      throw error;
    });
    const lease = leases.get(service);
    if (lease === undefined) throw new Error(`the table of the owner of ${service} is empty`);
    return lease;
  };

  return {
    /** The lease of a service. `owner` names one life of a process. */
    of: (service: ServiceName, owner: string): LeaseStore => ({
      look: () => look(service, owner),
      release: async () => {
        await pool.query(
          `UPDATE ${table(service)} SET owner = NULL, until = '-infinity' WHERE one AND owner = $1`,
          [owner],
        );
      },
    }),
  };
};

export type Leases = ReturnType<typeof createLeases>;

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
 * Lets a commit pass only while this process owns the service. A takeover waits for the commit: its change of the key and
 * this lock exclude each other. `epoch` is undefined in a process that owns nothing.
 */
export const ownershipFence = (
  schema: string,
  owner: string,
  epoch: () => number | undefined,
): CommitGuard => {
  const text = `SELECT 1 / count(*) FROM (
    SELECT FROM "${schema}".ownership WHERE one AND owner = $1 AND epoch = $2 FOR KEY SHARE) held`;
  return {
    statement: () => ({ name: `hp_fence_${schema}`, text, values: [owner, epoch() ?? -1] }),
    passed: () => undefined,
    isRefusal: (error) => codeOf(error) === DIVISION_BY_ZERO,
    refusal: (cause) => new Fenced(`another process owns ${schema}`, { cause }),
  };
};
