import { KEEP_DAYS, KEEP_MIN_DAYS } from '@holdpoint/contracts/api/retention';
import { type Kysely, type RawBuilder, sql } from 'kysely';

export type Retention = {
  /** The statuses that end an aggregate. No other is ever removed. */
  readonly final: readonly string[];
  /** A condition that keeps an aggregate although it has ended. It sees its head as `h`, and `due`: what ended before it may go. */
  readonly unless: RawBuilder<unknown>;
};

/** A token inside the JSON of an event. Taken as it stands: other fields may hold what the server cannot turn into text. */
export const tokenIn = (field: string): RawBuilder<string> =>
  sql<string>`btrim((e.data->${sql.lit(field)})::text, '"')`;

const days = (count: number): RawBuilder<unknown> => sql`interval ${sql.lit(`${String(count)} days`)}`;

const taskOf = sql`(SELECT ${tokenIn('task')} FROM events e WHERE e.aggregate = h.id AND e.version = 1)`;

/** What belongs to a task stays as long as the task may still ask for it, and while anybody would look for it. */
export const unlessTaskNeedsIt = (task: RawBuilder<unknown> = taskOf): RawBuilder<unknown> => sql`EXISTS (
  SELECT FROM orchestrator.heads t
   WHERE t.id = ${task}
     AND (t.finished_at IS NULL OR t.finished_at >= due
       OR EXISTS (SELECT FROM orchestrator.timers w WHERE w.aggregate = t.id)))`;

/**
 * Lets a service remove what ended long ago, and nothing else: of its events it may not delete one, and neither what has
 * ended nor how long that is kept is its own to say. Whoever owns the schema says it, in `retention`.
 */
export const createRetention = async (db: Kysely<unknown>, { final, unless }: Retention): Promise<void> => {
  const statuses = sql.join(final.map((status) => sql.lit(status)));
  await sql`CREATE TABLE retention (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    keep interval NOT NULL DEFAULT ${days(KEEP_DAYS)},
    retired bigint NOT NULL DEFAULT 0,
    CONSTRAINT retention_floor CHECK (keep >= ${days(KEEP_MIN_DAYS)})
  )`.execute(db);
  await sql`INSERT INTO retention DEFAULT VALUES`.execute(db);

  // Null until the end, so that the many updates before it touch no index. Noted by the server: a service cannot date it back.
  await sql`ALTER TABLE heads ADD COLUMN finished_at timestamptz`.execute(db);
  await sql`UPDATE heads SET finished_at = now() WHERE status IN (${statuses})`.execute(db);
  await sql`CREATE INDEX heads_finished ON heads (finished_at) WHERE finished_at IS NOT NULL`.execute(db);
  await sql`CREATE FUNCTION note_end() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.finished_at := CASE WHEN NEW.status = ANY (TG_ARGV) THEN now() END;
      RETURN NEW;
    END
  $$`.execute(db);
  await createTriggers(db, statuses);

  // Deleted rows are given back soon, not only once they are a fifth of all.
  await sql`ALTER TABLE events SET (autovacuum_vacuum_scale_factor = 0.05)`.execute(db);
  await createRetire(db, unless);
};

const createTriggers = async (db: Kysely<unknown>, statuses: RawBuilder<unknown>): Promise<void> => {
  await sql`CREATE TRIGGER heads_inserted BEFORE INSERT ON heads FOR EACH ROW
    WHEN (NEW.status IN (${statuses}) OR NEW.finished_at IS NOT NULL)
    EXECUTE FUNCTION note_end(${statuses})`.execute(db);
  await sql`CREATE TRIGGER heads_updated BEFORE UPDATE ON heads FOR EACH ROW
    WHEN (NEW.status IN (${statuses}) OR NEW.finished_at IS NOT NULL OR OLD.finished_at IS NOT NULL)
    EXECUTE FUNCTION note_end(${statuses})`.execute(db);
};

/** Changes which statuses end an aggregate: a later version of a service may know more of them. */
export const changeFinal = async (db: Kysely<unknown>, final: readonly string[]): Promise<void> => {
  const statuses = sql.join(final.map((status) => sql.lit(status)));
  await sql`DROP TRIGGER heads_inserted ON heads`.execute(db);
  await sql`DROP TRIGGER heads_updated ON heads`.execute(db);
  await createTriggers(db, statuses);
  await sql`UPDATE heads SET status = status WHERE finished_at IS NULL AND status IN (${statuses})`.execute(
    db,
  );
};

/**
 * Removes what ended long ago, and the timers in `idle` with it: they only look after something that nobody needs to know any
 * more. Every other timer keeps its aggregate. A later version of a service may call it again.
 */
export const createRetire = async (
  db: Kysely<unknown>,
  unless: RawBuilder<unknown>,
  idle: readonly string[] = [],
): Promise<void> => {
  const names = sql`ARRAY[${sql.join(idle.map((name) => sql.lit(name)))}]::text[]`;
  const { rows } = await sql<{ schema: string }>`SELECT current_schema() AS schema`.execute(db);
  const schema = sql.id(rows[0]?.schema ?? '');
  // The oldest of what waits to be published may need the events that it points at, so nothing goes that changed after it.
  await sql`CREATE OR REPLACE FUNCTION retire(most int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER
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
        DELETE FROM events WHERE aggregate = ANY (gone);
        DELETE FROM snapshots WHERE aggregate = ANY (gone);
        DELETE FROM timers WHERE aggregate = ANY (gone);
        DELETE FROM heads WHERE id = ANY (gone);
        UPDATE retention SET retired = retired + cardinality(gone);
      END IF;
      RETURN cardinality(gone);
    END
  $$`.execute(db);
  await sql`REVOKE ALL ON FUNCTION retire(int) FROM PUBLIC`.execute(db);
};
