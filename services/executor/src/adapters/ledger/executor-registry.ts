import type { Pool } from 'pg';
import { z } from 'zod';
import type { LedgerStatus } from '../../effect/reconciliation.ts';

const Row = z.object({
  generation: z.coerce.number().int(),
  same: z.boolean(),
  instances: z.array(
    z.object({ id: z.string(), position: z.int(), reconciled: z.int(), forgotten: z.boolean() }),
  ),
});

const READ = `
  SELECT l.generation, l.incarnation = incarnation() AS same,
         (SELECT coalesce(json_agg(json_build_object('id', id, 'position', position, 'reconciled', reconciled,
                                                     'forgotten', forgotten_at IS NOT NULL)), '[]') FROM instances) AS instances
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

/** For operators, who list the executors. */
const REPORT_SEEN = `UPDATE instances SET seen_at = now() WHERE id = $1 AND seen_at < now() - interval '30 seconds'`;

/** The generation of the ledger, and the executors that are registered in it. */
export const createExecutorRegistry = (pool: Pool) => ({
  read: async (): Promise<LedgerStatus> => {
    const { rows } = await pool.query(READ);
    const { generation, same, instances } = Row.parse(rows[0]);
    return { generation, same, instances: new Map(instances.map(({ id, ...rest }) => [id, rest])) };
  },
  /** When several executors notice a restore at once, one of them opens the next generation. */
  openGeneration: async (after: number): Promise<void> => void (await pool.query(OPEN_GENERATION, [after])),
  register: async (ids: readonly string[]): Promise<void> => void (await pool.query(REGISTER, [ids])),
  /** This journal was compared with the ledger of this generation, and its missing starts were reported. */
  confirm: async (id: string, generation: number, position: number): Promise<void> =>
    void (await pool.query(CONFIRM, [id, generation, position])),
  reportSeen: async (id: string): Promise<void> => void (await pool.query(REPORT_SEEN, [id])),
});
export type ExecutorRegistry = ReturnType<typeof createExecutorRegistry>;
