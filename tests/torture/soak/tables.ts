import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { Deployment } from '../deployment/deployment.ts';
import { BOUNDS, type Seen } from './measurements.ts';

const SIZES = `
  SELECT n.nspname || '.' || c.relname AS name, pg_total_relation_size(c.oid)::float8 AS bytes,
         coalesce(s.n_dead_tup, 0)::int AS dead
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
   WHERE c.relkind = 'r' AND n.nspname IN (${SERVICES.map((service) => `'${service}'`).join(', ')})
     AND c.relname NOT LIKE 'kysely%' ORDER BY 1`;

const COUNTED = ['heads', 'events', 'snapshots', 'timers', 'outbox'];
const ROWS = SERVICES.flatMap((service) =>
  COUNTED.map(
    (table) => `SELECT '${service}.${table}' AS name, count(*)::int AS rows FROM ${service}.${table}`,
  ),
).join(' UNION ALL ');

export const lookAtTables = async ({ query }: Pick<Deployment, 'query'>): Promise<readonly Seen[]> => {
  const [sizes, rows] = [await query(SIZES), await query(ROWS)];
  return [
    ...sizes.map(({ name, bytes }): Seen => ({
      name: `size of ${String(name)}`,
      unit: 'bytes',
      bound: BOUNDS.tableBytes,
      value: Number(bytes),
    })),
    ...rows.map(({ name, rows: count }): Seen => ({
      name: `rows of ${String(name)}`,
      unit: 'rows',
      bound: BOUNDS.rows,
      value: Number(count),
    })),
    ...sizes.map(({ name, dead }): Seen => ({
      name: `dead rows of ${String(name)}`,
      unit: 'rows',
      bound: BOUNDS.deadRows,
      value: Number(dead),
    })),
  ];
};
