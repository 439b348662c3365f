import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
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

/** So much JSON makes a page: an answer has to fit into a message of the bus, with whatever one event adds to it. */
const PAGE_MAX_CHARACTERS = 262_144;

export type HistoryPage = {
  readonly events: readonly HistoryEntry[];
  /** How many events there are. */
  readonly version: number;
  readonly more: boolean;
};

/** Events after a version, oldest first: `limit` at the most, and fewer where they are large. At least one, if there is any. */
export const readHistoryPage = async (
  pool: Pool,
  id: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<HistoryPage> => {
  const { rows } = await pool.query(
    `SELECT version, at, type, data FROM (
       SELECT version, at, type, data, sum(length(data::text)) OVER (ORDER BY version) - length(data::text) AS before
       FROM (SELECT version, at, type, data FROM events WHERE aggregate = $1 AND version > $2::bigint ORDER BY version LIMIT $3) page
     ) sized WHERE before < $4 ORDER BY version`,
    [id, after, limit, PAGE_MAX_CHARACTERS],
  );
  const head = await pool.query<{ readonly version: number | null }>(
    'SELECT max(version)::int AS version FROM events WHERE aggregate = $1',
    [id],
  );
  const events = z.array(EventRow).parse(rows);
  const version = head.rows[0]?.version ?? 0;
  return { events, version, more: (events.at(-1)?.version ?? after) < version };
};

/** Every event of one aggregate, oldest first. */
export const readHistory = async (pool: Pool, id: string): Promise<readonly HistoryEntry[]> => {
  const { rows } = await pool.query(
    'SELECT version, at, type, data FROM events WHERE aggregate = $1 ORDER BY version',
    [id],
  );
  return z.array(EventRow).parse(rows);
};
