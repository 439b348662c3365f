import { type Kysely, sql } from 'kysely';

/** The tables that every service has, in its own schema. Called by each service's first migration. */
export const createRuntimeTables = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE heads (
    id text PRIMARY KEY,
    version int NOT NULL CHECK (version > 0),
    status text NOT NULL,
    created_at bigint NOT NULL DEFAULT (extract(epoch FROM now()) * 1000)::bigint,
    view json
  ) WITH (fillfactor = 70)`.execute(db);
  await sql`CREATE TABLE events (
    aggregate text NOT NULL,
    version int NOT NULL CHECK (version > 0),
    type text NOT NULL,
    at timestamptz NOT NULL,
    trace text,
    data json NOT NULL,
    PRIMARY KEY (aggregate, version)
  )`.execute(db);
  await sql`CREATE TABLE snapshots (
    aggregate text PRIMARY KEY,
    version int NOT NULL,
    state json NOT NULL
  )`.execute(db);
  await sql`CREATE TABLE timers (
    aggregate text NOT NULL,
    name text NOT NULL,
    due_at timestamptz NOT NULL,
    data json,
    trace text,
    PRIMARY KEY (aggregate, name)
  ) WITH (fillfactor = 80, ${QUEUE})`.execute(db);
  await sql`CREATE INDEX timers_due ON timers (due_at)`.execute(db);
  await sql`CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    messages json NOT NULL,
    facts json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    claimed_until timestamptz
  ) WITH (${QUEUE})`.execute(db);
};

// Rows of these tables live for milliseconds: vacuum by count, not by share, and without pauses.
const QUEUE = sql.raw(
  'autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0',
);
