import {
  createObjectTables,
  createRuntimeTables,
  currentSchema,
  unlessTaskNeedsIt,
} from '@holdpoint/runtime/store/tables';
import { type Kysely, sql } from 'kysely';

/**
 * An effect in doubt that waits for a person is final: its task has asked the question, and whoever ended the task has answered
 * it. An effect that will be repeated has a timer, which keeps it.
 */
const FINAL = ['applied', 'failed_clean', 'not_applied', 'in_doubt', 'cancelled', 'refused'];

export const up = async (db: Kysely<unknown>): Promise<void> => {
  await createRuntimeTables(db, { final: FINAL, unless: unlessTaskNeedsIt(), indexesViews: true });
  await sql`CREATE INDEX heads_of_task ON heads ((view->>'task'))`.execute(db);
  await createLedger(db);
  await createArtifacts(db);
  await createDoubts(db);
};

/**
 * The generation of the ledger and its executors. A ledger that was restored is noticed, and is compared with the journals of
 * the executors before the next effect starts.
 */
const createLedger = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE ledger (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    generation bigint NOT NULL,
    incarnation text NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT now()
  )`.execute(db);
  await sql`INSERT INTO ledger (generation, incarnation) VALUES (0, '')`.execute(db);
  await sql`CREATE TABLE instances (
    id text PRIMARY KEY,
    position bigint NOT NULL CHECK (position >= 0),
    reconciled bigint NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT now(),
    forgotten_at timestamptz,
    forgotten_by text,
    forgotten_why text
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`.execute(
    db,
  );

  // Identifies one copy of the data: another server, timeline, database or data file gives another text.
  await sql`CREATE FUNCTION lineage() RETURNS text LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT concat_ws(' ',
      (SELECT system_identifier FROM pg_control_system()),
      left(pg_walfile_name(pg_current_wal_lsn()), 8),
      (SELECT oid FROM pg_database WHERE datname = current_database()),
      pg_relation_filenode('event_runs'))
  $$`.execute(db);

  // Identifies one run of one copy of the data. A restore brings none of it back.
  await sql`CREATE FUNCTION incarnation() RETURNS text LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT concat_ws(' ', lineage(), extract(epoch FROM pg_postmaster_start_time()))
  $$`.execute(db);

  // Where the log of this run began, in bytes: the checkpoint of its start, or 0 once a later one has replaced it. A copy
  // that was set back begins before what an executor has already seen.
  await sql`CREATE FUNCTION run_began_at() RETURNS numeric LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN checkpoint_time < pg_postmaster_start_time() + interval '1 minute' THEN redo_lsn - '0/0' ELSE 0 END
      FROM pg_control_checkpoint()
  $$`.execute(db);

  // Runs in every transaction that starts an effect, so that a restore is noticed before the next start.
  await sql`CREATE FUNCTION pass(me text, known bigint, reached bigint) RETURNS bigint LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
    DECLARE committed bigint;
    BEGIN
      IF NOT EXISTS (SELECT FROM ledger l WHERE l.generation = known AND l.incarnation = incarnation())
        OR EXISTS (SELECT FROM instances i WHERE i.reconciled <> known AND i.forgotten_at IS NULL) THEN
        RAISE EXCEPTION 'the ledger has not been reconciled' USING ERRCODE = 'HP001';
      END IF;
      UPDATE instances i SET position = i.position + 1, seen_at = now()
       WHERE i.id = me AND i.position >= reached AND i.forgotten_at IS NULL RETURNING i.position INTO committed;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'the ledger is behind the journal' USING ERRCODE = 'HP001';
      END IF;
      RETURN committed;
    END
  $$`.execute(db);

  // For an operator: this journal is lost for good, and executors stop waiting for it.
  await sql`CREATE FUNCTION forget_instance(which text, why text, who text DEFAULT session_user) RETURNS text LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
    BEGIN
      UPDATE instances SET forgotten_at = now(), forgotten_by = who, forgotten_why = why WHERE id = which;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'no executor is called %', which;
      END IF;
      RETURN 'effects no longer wait for the journal of ' || which;
    END
  $$`.execute(db);
};

/** Artifacts of starts. Their content is in the object store; a row is removed with its effect. */
const createArtifacts = async (db: Kysely<unknown>): Promise<void> => {
  await createObjectTables(db);
  await sql`CREATE TABLE artifacts (
    id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    effect text NOT NULL,
    epoch int NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    bytes bigint NOT NULL,
    media_type text NOT NULL,
    task text NOT NULL,
    node text NOT NULL,
    attempt int NOT NULL,
    step text NOT NULL,
    created_at timestamptz NOT NULL,
    stored_at timestamptz,
    PRIMARY KEY (effect, epoch, name)
  )`.execute(db);
  await sql`CREATE INDEX artifacts_of_task ON artifacts (task, id)`.execute(db);
  await sql`CREATE INDEX artifacts_of_content ON artifacts (sha256)`.execute(db);
  await sql`CREATE FUNCTION forget_artifacts() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
      DELETE FROM artifacts a USING gone WHERE a.effect = gone.id;
      RETURN NULL;
    END
  $$`.execute(db);
  await sql`CREATE TRIGGER heads_removed AFTER DELETE ON heads REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION forget_artifacts()`.execute(db);
};

/**
 * Effects in doubt, for alarms. Triggers derive them from `heads`: an index on the status would have to change with every
 * change of every effect.
 */
const createDoubts = async (db: Kysely<unknown>): Promise<void> => {
  const schema = await currentSchema(db);
  await sql`CREATE TABLE doubts (id text PRIMARY KEY, since timestamptz NOT NULL DEFAULT now())`.execute(db);
  await sql`CREATE FUNCTION keep_doubts() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ${schema}, pg_temp AS $$
    BEGIN
      IF TG_OP <> 'DELETE' AND NEW.status = 'in_doubt' THEN
        INSERT INTO doubts (id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
      ELSE
        DELETE FROM doubts WHERE id = OLD.id;
      END IF;
      RETURN NULL;
    END
  $$`.execute(db);
  await sql`REVOKE ALL ON FUNCTION keep_doubts() FROM PUBLIC`.execute(db);
  await sql`CREATE TRIGGER doubts_added AFTER INSERT ON heads FOR EACH ROW
    WHEN (NEW.status = 'in_doubt') EXECUTE FUNCTION keep_doubts()`.execute(db);
  await sql`CREATE TRIGGER doubts_ended AFTER UPDATE ON heads FOR EACH ROW
    WHEN ((NEW.status = 'in_doubt') <> (OLD.status = 'in_doubt')) EXECUTE FUNCTION keep_doubts()`.execute(db);
  await sql`CREATE TRIGGER doubts_removed AFTER DELETE ON heads FOR EACH ROW
    WHEN (OLD.status = 'in_doubt') EXECUTE FUNCTION keep_doubts()`.execute(db);
};
