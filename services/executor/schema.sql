CREATE TABLE artifacts (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  effect text NOT NULL,
  epoch integer NOT NULL,
  name text NOT NULL,
  sha256 text NOT NULL,
  bytes bigint NOT NULL,
  media_type text NOT NULL,
  task text NOT NULL,
  node text NOT NULL,
  attempt integer NOT NULL,
  step text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  stored_at timestamp with time zone
);

CREATE TABLE dead_letters (
  id text NOT NULL,
  place bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  letter json NOT NULL,
  body bytea NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  resolution json
);

CREATE TABLE doubts (
  id text NOT NULL,
  since timestamp with time zone NOT NULL DEFAULT now()
);

CREATE TABLE event_runs (
  at timestamp with time zone NOT NULL,
  first integer NOT NULL,
  aggregate text NOT NULL,
  trace text,
  events json NOT NULL
) WITH (autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE heads (
  id text NOT NULL,
  kind text NOT NULL,
  version integer NOT NULL,
  status text NOT NULL,
  created_at bigint NOT NULL DEFAULT ((EXTRACT(epoch FROM now()) * (1000)::numeric))::bigint,
  finished_at timestamp with time zone,
  view json
) WITH (fillfactor=100);

CREATE TABLE instances (
  id text NOT NULL,
  position bigint NOT NULL,
  reconciled bigint NOT NULL,
  seen_at timestamp with time zone NOT NULL DEFAULT now(),
  forgotten_at timestamp with time zone,
  forgotten_by text,
  forgotten_why text
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000);

CREATE TABLE ledger (
  one boolean NOT NULL DEFAULT true,
  generation bigint NOT NULL,
  incarnation text NOT NULL,
  opened_at timestamp with time zone NOT NULL DEFAULT now()
);

CREATE TABLE object_chunks (
  upload text NOT NULL,
  part integer NOT NULL,
  content bytea NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now()
);

CREATE TABLE objects (
  sha256 text NOT NULL,
  upload text NOT NULL,
  bytes bigint NOT NULL,
  parts integer NOT NULL,
  stored_at timestamp with time zone NOT NULL DEFAULT now()
);

CREATE TABLE outbox (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  messages json NOT NULL,
  event_ranges json NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  claimed_until timestamp with time zone
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0);

CREATE TABLE retention (
  one boolean NOT NULL DEFAULT true,
  keep interval NOT NULL DEFAULT '90 days'::interval,
  purged bigint NOT NULL DEFAULT 0
);

CREATE TABLE shared_content (
  digest text NOT NULL,
  content json NOT NULL
);

CREATE TABLE snapshots (
  aggregate text NOT NULL,
  version integer NOT NULL,
  state json NOT NULL
);

CREATE TABLE timers (
  aggregate text NOT NULL,
  name text NOT NULL,
  due_at timestamp with time zone NOT NULL,
  data json,
  trace text
) WITH (fillfactor=80, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0);

ALTER TABLE artifacts ADD CONSTRAINT artifacts_id_key UNIQUE (id);

ALTER TABLE artifacts ADD CONSTRAINT artifacts_pkey PRIMARY KEY (effect, epoch, name);

ALTER TABLE dead_letters ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (id);

ALTER TABLE doubts ADD CONSTRAINT doubts_pkey PRIMARY KEY (id);

ALTER TABLE event_runs ADD CONSTRAINT event_runs_first_check CHECK ((first > 0));

ALTER TABLE event_runs ADD CONSTRAINT event_runs_pkey PRIMARY KEY (aggregate, first);

ALTER TABLE heads ADD CONSTRAINT heads_pkey PRIMARY KEY (id);

ALTER TABLE heads ADD CONSTRAINT heads_version_check CHECK ((version > 0));

ALTER TABLE instances ADD CONSTRAINT instances_pkey PRIMARY KEY (id);

ALTER TABLE instances ADD CONSTRAINT instances_position_check CHECK (("position" >= 0));

ALTER TABLE ledger ADD CONSTRAINT ledger_one_check CHECK (one);

ALTER TABLE ledger ADD CONSTRAINT ledger_pkey PRIMARY KEY (one);

ALTER TABLE object_chunks ADD CONSTRAINT object_chunks_pkey PRIMARY KEY (upload, part);

ALTER TABLE objects ADD CONSTRAINT objects_pkey PRIMARY KEY (sha256);

ALTER TABLE objects ADD CONSTRAINT objects_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text));

ALTER TABLE objects ADD CONSTRAINT objects_upload_key UNIQUE (upload);

ALTER TABLE outbox ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);

ALTER TABLE retention ADD CONSTRAINT retention_floor CHECK ((keep >= '4 days'::interval));

ALTER TABLE retention ADD CONSTRAINT retention_one_check CHECK (one);

ALTER TABLE retention ADD CONSTRAINT retention_pkey PRIMARY KEY (one);

ALTER TABLE shared_content ADD CONSTRAINT shared_content_pkey PRIMARY KEY (digest);

ALTER TABLE snapshots ADD CONSTRAINT snapshots_pkey PRIMARY KEY (aggregate);

ALTER TABLE timers ADD CONSTRAINT timers_pkey PRIMARY KEY (aggregate, name);

CREATE INDEX artifacts_of_content ON executor.artifacts USING btree (sha256);

CREATE INDEX artifacts_of_task ON executor.artifacts USING btree (task, id);

CREATE INDEX dead_letters_age ON executor.dead_letters USING btree (created_at);

CREATE INDEX dead_letters_open ON executor.dead_letters USING btree (place) WHERE (resolution IS NULL);

CREATE UNIQUE INDEX dead_letters_place ON executor.dead_letters USING btree (place);

CREATE INDEX heads_claimed ON executor.heads USING btree ((((view -> 'remote'::text) ->> 'claim'::text))) WHERE (status = 'claimed'::text);

CREATE INDEX heads_finished ON executor.heads USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX heads_of_task ON executor.heads USING btree (((view ->> 'task'::text)));

CREATE INDEX heads_offered ON executor.heads USING btree (((view ->> 'uses'::text)), created_at) WHERE (status = 'offered'::text);

CREATE INDEX heads_open ON executor.heads USING btree (created_at) WHERE (finished_at IS NULL);

CREATE INDEX heads_waiting ON executor.heads USING btree (created_at, id) WHERE (status = 'prepared'::text);

CREATE INDEX object_chunks_age ON executor.object_chunks USING btree (created_at);

CREATE INDEX objects_age ON executor.objects USING btree (stored_at);

CREATE INDEX timers_due ON executor.timers USING btree (due_at);

CREATE VIEW events AS
 SELECT r.aggregate,
    (((r.first + e.place) - 1))::integer AS version,
    btrim(((e.data -> 'type'::text))::text, '"'::text) AS type,
    r.at,
    r.trace,
    e.data,
    r.first AS run
   FROM (executor.event_runs r
     CROSS JOIN LATERAL json_array_elements(r.events) WITH ORDINALITY e(data, place));

CREATE VIEW first_events AS
 SELECT aggregate,
    at,
    (events -> 0) AS data
   FROM executor.event_runs
  WHERE (first = 1);

CREATE OR REPLACE FUNCTION executor.forget_artifacts()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'executor'
AS $function$
    BEGIN
      DELETE FROM artifacts a USING gone WHERE a.effect = gone.id;
      RETURN NULL;
    END
  $function$;

CREATE OR REPLACE FUNCTION executor.forget_instance(which text, why text, who text DEFAULT SESSION_USER)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'executor'
AS $function$
    BEGIN
      UPDATE instances SET forgotten_at = now(), forgotten_by = who, forgotten_why = why WHERE id = which;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'no executor is called %', which;
      END IF;
      RETURN 'effects no longer wait for the journal of ' || which;
    END
  $function$;

CREATE OR REPLACE FUNCTION executor.incarnation()
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'executor'
AS $function$
    SELECT concat_ws(' ', lineage(), extract(epoch FROM pg_postmaster_start_time()))
  $function$;

CREATE OR REPLACE FUNCTION executor.keep_doubts()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'executor', 'pg_temp'
AS $function$
    BEGIN
      IF TG_OP <> 'DELETE' AND NEW.status = 'in_doubt' THEN
        INSERT INTO doubts (id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
      ELSE
        DELETE FROM doubts WHERE id = OLD.id;
      END IF;
      RETURN NULL;
    END
  $function$;

CREATE OR REPLACE FUNCTION executor.lineage()
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'executor'
AS $function$
    SELECT concat_ws(' ',
      (SELECT system_identifier FROM pg_control_system()),
      left(pg_walfile_name(pg_current_wal_lsn()), 8),
      (SELECT oid FROM pg_database WHERE datname = current_database()),
      pg_relation_filenode('event_runs'))
  $function$;

CREATE OR REPLACE FUNCTION executor.note_end()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
    BEGIN
      NEW.finished_at := CASE WHEN NEW.status = ANY (TG_ARGV) THEN now() END;
      RETURN NEW;
    END
  $function$;

CREATE OR REPLACE FUNCTION executor.pass(me text, known bigint, reached bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'executor'
AS $function$
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
  $function$;

CREATE OR REPLACE FUNCTION executor.purge(most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'executor', 'pg_temp'
AS $function$
    DECLARE
      due timestamptz := least(now() - (SELECT keep FROM retention),
                               (SELECT created_at FROM outbox ORDER BY id LIMIT 1));
      gone text[];
    BEGIN
      gone := ARRAY(
        SELECT h.id FROM heads h
         WHERE h.finished_at < due
           AND NOT EXISTS (SELECT FROM timers w WHERE w.aggregate = h.id AND w.name <> ALL (ARRAY[]::text[]))
           AND NOT EXISTS (
  SELECT FROM orchestrator.heads t
   WHERE t.id = (SELECT btrim((e.data->'task')::text, '"') FROM first_events e WHERE e.aggregate = h.id)
     AND (t.finished_at IS NULL OR t.finished_at >= due
       OR EXISTS (SELECT FROM orchestrator.timers w WHERE w.aggregate = t.id)))
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
  $function$;

CREATE OR REPLACE FUNCTION executor.run_began_at()
 RETURNS numeric
 LANGUAGE sql
 STABLE
 SET search_path TO 'executor'
AS $function$
    SELECT CASE WHEN checkpoint_time < pg_postmaster_start_time() + interval '1 minute' THEN redo_lsn - '0/0' ELSE 0 END
      FROM pg_control_checkpoint()
  $function$;

CREATE TRIGGER doubts_added AFTER INSERT ON executor.heads FOR EACH ROW WHEN ((new.status = 'in_doubt'::text)) EXECUTE FUNCTION executor.keep_doubts();

CREATE TRIGGER doubts_ended AFTER UPDATE ON executor.heads FOR EACH ROW WHEN (((new.status = 'in_doubt'::text) <> (old.status = 'in_doubt'::text))) EXECUTE FUNCTION executor.keep_doubts();

CREATE TRIGGER doubts_removed AFTER DELETE ON executor.heads FOR EACH ROW WHEN ((old.status = 'in_doubt'::text)) EXECUTE FUNCTION executor.keep_doubts();

CREATE TRIGGER heads_inserted BEFORE INSERT ON executor.heads FOR EACH ROW WHEN (((new.status = ANY (ARRAY['applied'::text, 'failed_clean'::text, 'not_applied'::text, 'in_doubt'::text, 'cancelled'::text, 'refused'::text])) OR (new.finished_at IS NOT NULL))) EXECUTE FUNCTION executor.note_end('applied', 'failed_clean', 'not_applied', 'in_doubt', 'cancelled', 'refused');

CREATE TRIGGER heads_removed AFTER DELETE ON executor.heads REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION executor.forget_artifacts();

CREATE TRIGGER heads_updated BEFORE UPDATE ON executor.heads FOR EACH ROW WHEN (((new.status = ANY (ARRAY['applied'::text, 'failed_clean'::text, 'not_applied'::text, 'in_doubt'::text, 'cancelled'::text, 'refused'::text])) OR (new.finished_at IS NOT NULL) OR (old.finished_at IS NOT NULL))) EXECUTE FUNCTION executor.note_end('applied', 'failed_clean', 'not_applied', 'in_doubt', 'cancelled', 'refused');
