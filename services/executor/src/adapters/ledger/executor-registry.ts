import type { Pool } from 'pg';
import { ExecutorView } from '@holdpoint/contracts/effect/views';
import { z } from 'zod';
import type { LedgerStatus } from '../../effect/reconciliation.ts';

const Row = z.object({
  generation: z.coerce.number().int(),
  same: z.boolean(),
  lineage: z.string(),
  written: z.string().transform(BigInt),
  began: z.string().transform(BigInt),
  instances: z.array(
    z.object({
      id: z.string(),
      position: z.int(),
      reconciled: z.int(),
      forgotten: z.boolean(),
      seen: z.string(),
      missing: z.boolean(),
    }),
  ),
});

const READ = `
  SELECT l.generation, l.incarnation = incarnation() AS same, lineage() AS lineage,
         (pg_current_wal_lsn() - '0/0')::text AS written, run_began_at()::text AS began,
         (SELECT coalesce(json_agg(json_build_object('id', id, 'position', position, 'reconciled', reconciled,
                                                     'forgotten', forgotten_at IS NOT NULL, 'seen', seen_at::text,
                                                     'missing', seen_at < now() - interval '10 minutes')), '[]') FROM instances) AS instances
    FROM ledger l`;

const OPEN_GENERATION = `
  UPDATE ledger SET generation = generation + 1, incarnation = incarnation(), opened_at = now() WHERE generation = $1`;

/** Registered executors have compared nothing yet: all others wait for them. */
const REGISTER = `
  INSERT INTO instances (id, position, reconciled) SELECT unnest($1::text[]), 0, -1 ON CONFLICT (id) DO NOTHING`;

const CONFIRM = `
  INSERT INTO instances (id, position, reconciled)
  SELECT $1::text, $3::bigint, generation FROM ledger WHERE generation = $2 AND incarnation = incarnation()
  ON CONFLICT (id) DO UPDATE SET position = greatest(instances.position, excluded.position), reconciled = excluded.reconciled,
    seen_at = now(), forgotten_at = NULL, forgotten_by = NULL, forgotten_why = NULL`;

/** Of executors that have not been seen since, and whose starts are all in this ledger. */
const CARRY_OVER = `
  UPDATE instances i SET reconciled = l.generation FROM ledger l
   WHERE i.id = ANY($1) AND l.generation = $2 AND l.incarnation = incarnation()
     AND i.seen_at < now() - interval '10 minutes'`;

const LIST = `
  SELECT id AS name, (extract(epoch FROM seen_at) * 1000)::float8 AS "seenAt",
         forgotten_at IS NULL AND seen_at < now() - interval '10 minutes' AS missing,
         forgotten_at IS NULL AND reconciled <> (SELECT generation FROM ledger) AS awaited,
         (extract(epoch FROM forgotten_at) * 1000)::float8 AS "forgottenAt", forgotten_by AS "forgottenBy",
         forgotten_why AS "forgottenWhy"
    FROM instances ORDER BY seen_at DESC, id LIMIT 1000`;

const FORGET = 'SELECT forget_instance(id, $2, $3) FROM instances WHERE id = $1';

/** For operators, who list the executors. */
const REPORT_SEEN = `UPDATE instances SET seen_at = now() WHERE id = $1 AND seen_at < now() - interval '30 seconds'`;

/** The generation of the ledger, and the executors that are registered in it. */
export const createExecutorRegistry = (pool: Pool) => ({
  read: async (): Promise<LedgerStatus> => {
    const { rows } = await pool.query({ name: 'hp_ledger', text: READ });
    const { instances, ...rest } = Row.parse(rows[0]);
    return { ...rest, instances: new Map(instances.map(({ id, ...instance }) => [id, instance])) };
  },
  /** When several executors notice a restore at once, one of them opens the next generation. */
  openGeneration: async (after: number): Promise<void> => void (await pool.query(OPEN_GENERATION, [after])),
  register: async (ids: readonly string[]): Promise<void> => void (await pool.query(REGISTER, [ids])),
  /** This journal was compared with the ledger of this generation, and its missing starts were reported. */
  confirm: async (id: string, generation: number, position: number): Promise<void> =>
    void (await pool.query(CONFIRM, [id, generation, position])),
  /** The ledger has all starts of these executors: no executor waits for them. */
  carryOver: async (ids: readonly string[], generation: number): Promise<void> =>
    void (await pool.query(CARRY_OVER, [ids, generation])),
  reportSeen: async (id: string): Promise<void> => void (await pool.query(REPORT_SEEN, [id])),
});
export type ExecutorRegistry = ReturnType<typeof createExecutorRegistry>;

/** All executors of the ledger, the latest first. */
export const listExecutors = async (pool: Pool): Promise<ExecutorView[]> => {
  const { rows } = await pool.query<Record<string, unknown>>(LIST);
  const present = rows.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)),
  );
  return z.array(ExecutorView).parse(present);
};

/** Declares the journal of an executor lost. False if there is no such executor. */
export const forgetExecutor = async (pool: Pool, name: string, why: string, by: string): Promise<boolean> => {
  const { rowCount } = await pool.query(FORGET, [name, why, by]);
  return rowCount === 1;
};
