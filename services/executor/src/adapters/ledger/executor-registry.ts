import type { Pool } from 'pg';
import { z } from 'zod';
import type { Standing } from '../../effect/reconciliation.ts';

const Row = z.object({
  generation: z.coerce.number().int(),
  same: z.boolean(),
  instances: z.array(
    z.object({ id: z.string(), position: z.int(), reconciled: z.int(), forgotten: z.boolean() }),
  ),
});

const LOOK = `
  SELECT l.generation, l.incarnation = incarnation() AS same,
         (SELECT coalesce(json_agg(json_build_object('id', id, 'position', position, 'reconciled', reconciled,
                                                     'forgotten', forgotten_at IS NOT NULL)), '[]') FROM instances) AS instances
    FROM ledger l`;

const OPEN_GENERATION = `
  UPDATE ledger SET generation = generation + 1, incarnation = incarnation(), opened_at = now() WHERE generation = $1`;

/** As one that has compared nothing yet: from then on everybody waits for it. */
const REGISTER = `
  INSERT INTO instances (id, position, reconciled) SELECT unnest($1::text[]), 0, -1 ON CONFLICT (id) DO NOTHING`;

const VOUCH = `
  INSERT INTO instances (id, position, reconciled)
  SELECT $1::text, $3::bigint, generation FROM ledger WHERE generation = $2 AND incarnation = incarnation()
  ON CONFLICT (id) DO UPDATE SET position = greatest(instances.position, excluded.position), reconciled = excluded.reconciled,
    seen_at = now(), forgotten_at = NULL, forgotten_by = NULL, forgotten_why = NULL`;

/** So that people see who is there. */
const BE_SEEN = `UPDATE instances SET seen_at = now() WHERE id = $1 AND seen_at < now() - interval '30 seconds'`;

/** What the ledger knows of itself and of its executors. */
export const createStandings = (pool: Pool) => ({
  look: async (): Promise<Standing> => {
    const { rows } = await pool.query(LOOK);
    const { generation, same, instances } = Row.parse(rows[0]);
    return { generation, same, instances: new Map(instances.map(({ id, ...rest }) => [id, rest])) };
  },
  /** Of several that find out at once, one opens it. */
  openGeneration: async (after: number): Promise<void> => void (await pool.query(OPEN_GENERATION, [after])),
  register: async (ids: readonly string[]): Promise<void> => void (await pool.query(REGISTER, [ids])),
  /** This journal has been compared with the ledger of this generation, and has brought what was missing. */
  vouch: async (id: string, generation: number, position: number): Promise<void> =>
    void (await pool.query(VOUCH, [id, generation, position])),
  beSeen: async (id: string): Promise<void> => void (await pool.query(BE_SEEN, [id])),
});
export type Standings = ReturnType<typeof createStandings>;
