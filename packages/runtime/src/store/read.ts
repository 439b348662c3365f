import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import type { Pool } from 'pg';
import { z } from 'zod';
import { foldStored } from '../decider.ts';
import { kindNamed } from '../engine/kinds.ts';
import { RUN_MAX_EVENTS } from './encode.ts';
import { completeEvents } from './shared-content.ts';
import { statements } from './statements.ts';

type Fold<State, Event> = { readonly initial: State; evolve(state: State, event: Event): State };

const HistoryRow = z.object({
  snapshot_version: z.int().nullable(),
  snapshot_state: z.unknown(),
  events: z.array(z.unknown()),
});

const fold = <State, Event>(
  decider: Fold<State, Event>,
  { snapshot_version, snapshot_state, events }: z.infer<typeof HistoryRow>,
): State => {
  // The store returns what this decider wrote.
  const start = snapshot_version === null ? decider.initial : (snapshot_state as State);
  return foldStored(decider, start, events as readonly Event[]);
};

const completed = async <Row extends { readonly events: readonly unknown[] }>(
  pool: Pool,
  row: Row,
): Promise<Row> => ({ ...row, events: await completeEvents(pool, row.events) });

/** The committed state of one aggregate; `initial` when there is none. */
export const readState = async <State, Event>(
  pool: Pool,
  decider: Fold<State, Event>,
  id: string,
): Promise<State> => {
  const { rows } = await pool.query({ ...statements.history, values: [[id]] });
  return fold(decider, await completed(pool, HistoryRow.parse(rows[0])));
};

type AnyKinds = Readonly<Record<string, { readonly decider: Fold<unknown, never> }>>;
/** The kind of an aggregate, and its state. */
export type ReadAggregate<All extends AnyKinds> = {
  [Kind in keyof All]: { readonly kind: Kind; readonly state: All[Kind]['decider']['initial'] };
}[keyof All];

const KindRow = HistoryRow.extend({ kind: z.string() });

/** The committed state of an aggregate of any kind; undefined when there is none. */
export const readAggregate = async <All extends AnyKinds>(
  pool: Pool,
  kinds: All,
  id: string,
): Promise<ReadAggregate<All> | undefined> => {
  const { rows } = await pool.query({ ...statements.aggregate, values: [[id]] });
  if (rows.length === 0) return undefined;
  const { kind, ...history } = KindRow.parse(rows[0]);
  const { decider } = kindNamed(kinds, kind);
  return { kind, state: fold(decider, await completed(pool, history)) } as ReadAggregate<All>;
};

/** The state after these events of one aggregate, oldest first. */
export const foldHistory = <State, Event>(
  decider: Fold<State, Event>,
  history: readonly Pick<HistoryEntry, 'data'>[],
): State =>
  fold(decider, {
    snapshot_version: null,
    snapshot_state: null,
    events: history.map(({ data }) => data),
  });

const EventRow = z.object({
  version: z.int(),
  at: z.date().transform((at) => at.getTime()),
  type: z.string(),
  data: z.record(z.string(), z.json()),
});

const eventsIn = async (pool: Pool, rows: readonly unknown[]): Promise<readonly HistoryEntry[]> => {
  const stored = z.array(EventRow).parse(rows);
  const data = await completeEvents(
    pool,
    stored.map((event) => event.data),
  );
  return stored.map((event, place) => ({ ...event, data: data[place] as HistoryEntry['data'] }));
};

/** Maximum JSON of a page: the answer has to fit into a bus message, even when one more event is added. */
const PAGE_MAX_CHARACTERS = 262_144;

export type HistoryPage = {
  readonly events: readonly HistoryEntry[];
  /** The number of events of the aggregate. */
  readonly version: number;
  readonly more: boolean;
};

/** Events after a version, oldest first: at most `limit`, fewer when they are large, but at least one if there is any. */
export const readHistoryPage = async (
  pool: Pool,
  id: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<HistoryPage> => {
  const { rows } = await pool.query(
    `SELECT version, at, type, data FROM (
       SELECT version, at, type, data, sum(length(data::text)) OVER (ORDER BY version) - length(data::text) AS before
       FROM (SELECT version, at, type, data FROM events
              WHERE aggregate = $1 AND version > $2::bigint AND run > $2::bigint - $5 AND run <= $2::bigint + $3
              ORDER BY version LIMIT $3) page
     ) sized WHERE before < $4 ORDER BY version`,
    [id, after, limit, PAGE_MAX_CHARACTERS, RUN_MAX_EVENTS],
  );
  const head = await pool.query<{ readonly version: number }>('SELECT version FROM heads WHERE id = $1', [
    id,
  ]);
  const events = await eventsIn(pool, rows);
  const version = head.rows[0]?.version ?? 0;
  return { events, version, more: (events.at(-1)?.version ?? after) < version };
};

/** Every event of one aggregate, oldest first. */
export const readHistory = async (pool: Pool, id: string): Promise<readonly HistoryEntry[]> => {
  const { rows } = await pool.query(
    'SELECT version, at, type, data FROM events WHERE aggregate = $1 ORDER BY version',
    [id],
  );
  return eventsIn(pool, rows);
};
