import type { HistoryEntry } from '@holdpoint/contracts/catalog';
import type { Pool } from 'pg';
import { z } from 'zod';
import { statements } from './statements.ts';

type Fold<State, Event> = { readonly initial: State; evolve(state: State, event: Event): State };

const HistoryRow = z.object({
  snapshot_version: z.int().nullable(),
  snapshot_state: z.unknown(),
  events: z.array(z.unknown()),
});

/** The state of one aggregate as last committed; `initial` when there is none. */
export const readState = async <State, Event>(
  pool: Pool,
  fold: Fold<State, Event>,
  id: string,
): Promise<State> => {
  const { rows } = await pool.query({ ...statements.history, values: [[id]] });
  const { snapshot_version, snapshot_state, events } = HistoryRow.parse(rows[0]);
  // The store holds what this very decider wrote.
  const start = snapshot_version === null ? fold.initial : (snapshot_state as State);
  return (events as readonly Event[]).reduce((state, event) => fold.evolve(state, event), start);
};

const EventRow = z.object({
  version: z.int(),
  at: z.date().transform((at) => at.getTime()),
  type: z.string(),
  data: z.record(z.string(), z.json()),
});

/** Every event of one aggregate, oldest first. */
export const readHistory = async (pool: Pool, id: string): Promise<readonly HistoryEntry[]> => {
  const { rows } = await pool.query(
    'SELECT version, at, type, data FROM events WHERE aggregate = $1 ORDER BY version',
    [id],
  );
  return z.array(EventRow).parse(rows);
};
