import { CircuitState, CircuitView } from '@holdpoint/contracts/recovery/circuit';
import { pageById } from '@holdpoint/runtime/store/page';
import type { Pool } from 'pg';
import { z } from 'zod';
import { CIRCUIT_STATUS } from './summary.ts';

const Row = z.object({ view: CircuitView });

/** Circuits that are or were open, by id. */
export const listCircuits = async (
  pool: Pool,
  {
    limit,
    after,
    state,
  }: {
    readonly limit: number;
    readonly after?: string | undefined;
    readonly state?: CircuitState | undefined;
  },
): Promise<{ items: CircuitView[]; next?: string }> => {
  const wanted = (state === undefined ? CircuitState.options : [state]).map(
    (each) => `${CIRCUIT_STATUS}${each}`,
  );
  const { rows } = await pool.query({
    name: 'hp_circuits',
    text: 'SELECT view FROM heads WHERE status = ANY ($1) AND id > $2 ORDER BY id LIMIT $3',
    values: [wanted, after ?? '', limit + 1],
  });
  const views = z
    .array(Row)
    .parse(rows)
    .map(({ view }) => view);
  const { rows: items, ...next } = pageById(views, limit);
  return { items: [...items], ...next };
};
