import { type Kysely, sql } from 'kysely';

/**
 * What the ledger knows of itself and of the executors that write it, so that a ledger which was set back is noticed, and
 * is compared with their journals before an effect starts.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
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

  // One life of one copy of the data: another server, another start of it, another history, another database or other
  // files of the same one give another text. Nothing of it is restored with the data.
  await sql`CREATE FUNCTION incarnation() RETURNS text LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT concat_ws(' ',
      (SELECT system_identifier FROM pg_control_system()),
      left(pg_walfile_name(pg_current_wal_lsn()), 8),
      extract(epoch FROM pg_postmaster_start_time()),
      (SELECT oid FROM pg_database WHERE datname = current_database()),
      pg_relation_filenode('events'))
  $$`.execute(db);

  // Run in every transaction that starts an effect, so that there is no moment between a restore and its discovery.
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

  // For an operator: this journal is gone for good, and nobody is to wait for it.
  await sql`CREATE FUNCTION forget_instance(which text, why text) RETURNS text LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
    BEGIN
      UPDATE instances SET forgotten_at = now(), forgotten_by = session_user, forgotten_why = why WHERE id = which;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'no executor is called %', which;
      END IF;
      RETURN 'effects no longer wait for the journal of ' || which;
    END
  $$`.execute(db);
};
