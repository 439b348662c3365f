import { type CircuitState, CircuitView } from '@holdpoint/contracts/circuit';
import type { Summary } from '@holdpoint/runtime/ports';
import type { Pool } from 'pg';
import { z } from 'zod';
import { circuitView } from '../domain/circuit.ts';
import { isCircuit, type RecoveryState } from '../domain/recovery.ts';

const STATUS = 'circuit_';

/** What lists show: circuits. The failures of a task are looked up by its id. */
export const summarise = (state: RecoveryState): Summary =>
  isCircuit(state)
    ? { status: `${STATUS}${state.state}`, view: circuitView(state) }
    : { status: 'assessed', view: null };

const STATUSES = ['circuit_open', 'circuit_half_open', 'circuit_closed'] as const;

/** The circuits that are, or were, open; by id. */
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
  const wanted = state === undefined ? STATUSES : [`${STATUS}${state}`];
  const { rows } = await pool.query(
    'SELECT view FROM heads WHERE status = ANY ($1) AND id > $2 ORDER BY id LIMIT $3',
    [wanted, after ?? '', limit + 1],
  );
  const views = z
    .array(z.object({ view: CircuitView }))
    .parse(rows)
    .map(({ view }) => view);
  const items = views.slice(0, limit);
  const last = items.at(-1);
  return { items, ...(views.length > limit && last !== undefined && { next: last.id }) };
};
