import { RegisteredCapability } from '@holdpoint/contracts/approval/capability';
import type { ApiRequest, ApiResponse } from '@holdpoint/contracts/catalog/api';
import { capabilityIdOf } from '@holdpoint/contracts/values/ids';
import type { Pool } from 'pg';
import { z } from 'zod';

const Row = z.object({ view: RegisteredCapability });

const PAGE = 50;

/** Remote capabilities by name, with the withdrawn ones. `name` selects one. */
export const listCapabilities = async (
  pool: Pool,
  { name, after, limit = PAGE }: ApiRequest<'approvals', 'capability_list'>,
): Promise<ApiResponse<'approvals', 'capability_list'>> => {
  const { rows } = await pool.query({
    name: 'hp_capabilities',
    text: `SELECT view FROM heads
            WHERE status = 'capability' AND ($1::text IS NULL OR id = $1)
              AND ($2::text IS NULL OR view->>'name' COLLATE "C" > $2)
            ORDER BY view->>'name' COLLATE "C" LIMIT $3`,
    values: [name === undefined ? null : capabilityIdOf(name), after ?? null, limit + 1],
  });
  const found = z
    .array(Row)
    .parse(rows)
    .map(({ view }) => view);
  const items = found.slice(0, limit);
  const last = items.at(-1)?.name;
  return { items, ...(found.length > limit && last !== undefined && { next: last }) };
};

const StoredCapability = Row.extend({ version: z.int() });
export type StoredCapability = z.infer<typeof StoredCapability>;

/** The capabilities that are not known in their latest version: most reads transfer nothing. */
export const readChangedCapabilities = async (
  pool: Pool,
  known: readonly StoredCapability[],
): Promise<readonly StoredCapability[]> => {
  const { rows } = await pool.query({
    name: 'hp_changed_capabilities',
    text: `SELECT version, view FROM heads
            WHERE status = 'capability'
              AND (id, version) NOT IN (SELECT * FROM unnest($1::text[], $2::int[]))`,
    values: [known.map(({ view }) => capabilityIdOf(view.name)), known.map(({ version }) => version)],
  });
  return z.array(StoredCapability).parse(rows);
};
