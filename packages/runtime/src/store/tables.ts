import { KEEP_DAYS, KEEP_MIN_DAYS } from '@holdpoint/contracts/api/retention';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { LEASE_MS } from '../ownership/lease.ts';

// Only migrations load this file: the query builder is a sixth of the files of a process.

export type Retention = {
  /** The statuses that end an aggregate. No aggregate of another status is ever purged. */
  readonly final: readonly string[];
  /**
   * A condition that keeps an ended aggregate. It sees the head as `h`, and `due`: aggregates that ended before it may be
   * purged.
   */
  readonly unless: RawBuilder<unknown>;
  /** Timers that do not keep an ended aggregate. Every other timer does. */
  readonly idle?: readonly string[];
};

export type RuntimeTables = Retention & {
  /** An index of the service reads the view of `heads`, so that no update is heap-only: pages keep no room for one. */
  readonly indexesViews?: boolean;
};

/** A token in the JSON of an event, unquoted. Other fields may hold characters that the server cannot turn into text. */
export const tokenIn = (field: string): RawBuilder<string> =>
  sql<string>`btrim((e.data->${sql.lit(field)})::text, '"')`;

const days = (count: number): RawBuilder<unknown> => sql`interval ${sql.lit(`${String(count)} days`)}`;

const taskOf = sql`(SELECT ${tokenIn('task')} FROM first_events e WHERE e.aggregate = h.id)`;

/** Keeps what belongs to a task as long as the task may still ask for it. */
export const unlessTaskNeedsIt = (task: RawBuilder<unknown> = taskOf): RawBuilder<unknown> => sql`EXISTS (
  SELECT FROM orchestrator.heads t
   WHERE t.id = ${task}
     AND (t.finished_at IS NULL OR t.finished_at >= due
       OR EXISTS (SELECT FROM orchestrator.timers w WHERE w.aggregate = t.id)))`;

/** The schema that the migration runs in. */
export const currentSchema = async (db: Kysely<unknown>): Promise<RawBuilder<unknown>> => {
  const { rows } = await sql<{ schema: string }>`SELECT current_schema() AS schema`.execute(db);
  return sql.id(rows[0]?.schema ?? '');
};

/** The tables that every service has in its own schema, and the purge of ended aggregates. */
export const createRuntimeTables = async (
  db: Kysely<unknown>,
  { indexesViews = false, ...retention }: RuntimeTables,
): Promise<void> => {
  await createAggregates(db, indexesViews ? 100 : 70);
  await createQueues(db);
  await createEnds(db, retention.final);
  await createPurge(db, retention);
};

const createAggregates = async (db: Kysely<unknown>, fillfactor: number): Promise<void> => {
  // `finished_at` is null until the end, so that the many updates before it touch no index.
  await sql`CREATE TABLE heads (
    id text PRIMARY KEY,
    kind text NOT NULL,
    version int NOT NULL CHECK (version > 0),
    status text NOT NULL,
    created_at bigint NOT NULL DEFAULT (extract(epoch FROM now()) * 1000)::bigint,
    finished_at timestamptz,
    view json
  ) WITH (fillfactor = ${sql.lit(fillfactor)})`.execute(db);
  await sql`CREATE INDEX heads_finished ON heads (finished_at) WHERE finished_at IS NOT NULL`.execute(db);
  // For counts of open aggregates. Of its columns only the end changes, so that updates before it stay heap-only.
  await sql`CREATE INDEX heads_open ON heads (created_at) WHERE finished_at IS NULL`.execute(db);
  await createEvents(db);
  await sql`CREATE TABLE snapshots (
    aggregate text PRIMARY KEY,
    version int NOT NULL,
    state json NOT NULL
  )`.execute(db);
  // Rows are few and are never deleted: each release of the default gate is one.
  await sql`CREATE TABLE shared_content (
    digest text PRIMARY KEY,
    content json NOT NULL
  )`.execute(db);
};

/**
 * The events of a decision are one row: it has one header and one index entry, and above 2 KB the server compresses it. `first` is
 * the version of its first event.
 */
const createEvents = async (db: Kysely<unknown>): Promise<void> => {
  // Columns of a fixed size come first, so that nothing is padded. Deleted rows are reclaimed before they are a fifth of all.
  await sql`CREATE TABLE event_runs (
    at timestamptz NOT NULL,
    first int NOT NULL CHECK (first > 0),
    aggregate text NOT NULL,
    trace text,
    events json NOT NULL,
    PRIMARY KEY (aggregate, first)
  ) WITH (autovacuum_vacuum_scale_factor = 0.05)`.execute(db);
  // A compressed run that fits into a page stays in its row.
  await sql`ALTER TABLE event_runs ALTER events SET STORAGE MAIN`.execute(db);
  // `run` is for conditions that an index can check.
  await sql`CREATE VIEW events AS
    SELECT r.aggregate, (r.first + e.place - 1)::int AS version, ${tokenIn('type')} AS type, r.at, r.trace, e.data, r.first AS run
      FROM event_runs r CROSS JOIN LATERAL json_array_elements(r.events) WITH ORDINALITY AS e(data, place)`.execute(
    db,
  );
  await sql`CREATE VIEW first_events AS
    SELECT aggregate, at, events->0 AS data FROM event_runs WHERE first = 1`.execute(db);
};

// Rows of these tables live for milliseconds: vacuum by count, not by share, and without pauses.
const QUEUE = sql.raw(
  'autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0',
);

const createQueues = async (db: Kysely<unknown>): Promise<void> => {
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
    event_ranges json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    claimed_until timestamptz
  ) WITH (${QUEUE})`.execute(db);
  // `json` keeps every character that a sender may have written; the body is bytes, because it may be no text.
  await sql`CREATE TABLE dead_letters (
    id text PRIMARY KEY,
    place bigint GENERATED ALWAYS AS IDENTITY,
    letter json NOT NULL,
    body bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    resolution json
  )`.execute(db);
  await sql`CREATE UNIQUE INDEX dead_letters_place ON dead_letters (place)`.execute(db);
  await sql`CREATE INDEX dead_letters_open ON dead_letters (place) WHERE resolution IS NULL`.execute(db);
  await sql`CREATE INDEX dead_letters_age ON dead_letters (created_at)`.execute(db);
};

/** The server itself dates the end of an aggregate: a service cannot date it back. */
const createEnds = async (db: Kysely<unknown>, final: readonly string[]): Promise<void> => {
  const statuses = sql.join(final.map((status) => sql.lit(status)));
  await sql`CREATE FUNCTION note_end() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.finished_at := CASE WHEN NEW.status = ANY (TG_ARGV) THEN now() END;
      RETURN NEW;
    END
  $$`.execute(db);
  await sql`CREATE TRIGGER heads_inserted BEFORE INSERT ON heads FOR EACH ROW
    WHEN (NEW.status IN (${statuses}) OR NEW.finished_at IS NOT NULL)
    EXECUTE FUNCTION note_end(${statuses})`.execute(db);
  await sql`CREATE TRIGGER heads_updated BEFORE UPDATE ON heads FOR EACH ROW
    WHEN (NEW.status IN (${statuses}) OR NEW.finished_at IS NOT NULL OR OLD.finished_at IS NOT NULL)
    EXECUTE FUNCTION note_end(${statuses})`.execute(db);
};

/**
 * A service may purge through this function only. It cannot delete a single event itself, and neither the end of an aggregate
 * nor the retention is its own to set: the owner of the schema sets it, in `retention`.
 */
const createPurge = async (db: Kysely<unknown>, { unless, idle = [] }: Retention): Promise<void> => {
  await sql`CREATE TABLE retention (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    keep interval NOT NULL DEFAULT ${days(KEEP_DAYS)},
    purged bigint NOT NULL DEFAULT 0,
    CONSTRAINT retention_floor CHECK (keep >= ${days(KEEP_MIN_DAYS)})
  )`.execute(db);
  await sql`INSERT INTO retention DEFAULT VALUES`.execute(db);
  const names = sql`ARRAY[${sql.join(idle.map((name) => sql.lit(name)))}]::text[]`;
  const schema = await currentSchema(db);
  // An outbox row points at its events: nothing is purged that changed after the oldest row.
  await sql`CREATE FUNCTION purge(most int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ${schema}, pg_temp AS $$
    DECLARE
      due timestamptz := least(now() - (SELECT keep FROM retention),
                               (SELECT created_at FROM outbox ORDER BY id LIMIT 1));
      gone text[];
    BEGIN
      gone := ARRAY(
        SELECT h.id FROM heads h
         WHERE h.finished_at < due
           AND NOT EXISTS (SELECT FROM timers w WHERE w.aggregate = h.id AND w.name <> ALL (${names}))
           AND NOT ${unless}
         ORDER BY h.finished_at LIMIT least(greatest(most, 0), 1000) FOR UPDATE OF h SKIP LOCKED);
      IF cardinality(gone) > 0 THEN
        DELETE FROM event_runs WHERE aggregate = ANY (gone);
        DELETE FROM snapshots WHERE aggregate = ANY (gone);
        DELETE FROM timers WHERE aggregate = ANY (gone);
        DELETE FROM heads WHERE id = ANY (gone);
        UPDATE retention SET purged = purged + cardinality(gone);
      END IF;
      RETURN cardinality(gone);
    END
  $$`.execute(db);
  await sql`REVOKE ALL ON FUNCTION purge(int) FROM PUBLIC`.execute(db);
};

/**
 * One row: which process decides for the service. The session is that of its latest renewal. Owner and epoch are a key, so that
 * a takeover waits for every commit that has passed the fence, and a renewal for none.
 */
export const createOwnershipTable = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE ownership (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    owner text,
    epoch bigint NOT NULL DEFAULT 0,
    until timestamptz NOT NULL DEFAULT '-infinity',
    lasts_ms int NOT NULL DEFAULT ${sql.lit(LEASE_MS)},
    ran_out timestamptz NOT NULL DEFAULT '-infinity',
    session int,
    session_start timestamptz,
    UNIQUE (owner, epoch)
  ) WITH (fillfactor = 50)`.execute(db);
  await sql`INSERT INTO ownership DEFAULT VALUES`.execute(db);
};

/** One row: what the service that keeps the topology last saw of the bus. */
export const createBusWatermarkTable = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE bus_watermark (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    seen jsonb NOT NULL
  ) WITH (fillfactor = 50)`.execute(db);
  await sql`INSERT INTO bus_watermark (seen) VALUES ('{"servers": [], "streams": {}}')`.execute(db);
};

/** The objects of a service. A chunk belongs to an upload, so that an incomplete one is never read. */
export const createObjectTables = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE objects (
    sha256 text PRIMARY KEY CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    upload text NOT NULL UNIQUE,
    bytes bigint NOT NULL,
    parts int NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT now()
  )`.execute(db);
  await sql`CREATE INDEX objects_age ON objects (stored_at)`.execute(db);
  await sql`CREATE TABLE object_chunks (
    upload text NOT NULL,
    part int NOT NULL,
    content bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (upload, part)
  )`.execute(db);
  // Logs compress well, but the server would spend more time on it than on the rest.
  await sql`ALTER TABLE object_chunks ALTER COLUMN content SET STORAGE EXTERNAL`.execute(db);
  await sql`CREATE INDEX object_chunks_age ON object_chunks (created_at)`.execute(db);
};
