CREATE TABLE dead_letters (
  id text NOT NULL,
  place bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  letter json NOT NULL,
  body bytea NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  resolution json
);

CREATE TABLE event_runs (
  at timestamp with time zone NOT NULL,
  first integer NOT NULL,
  aggregate text NOT NULL,
  trace text,
  events json NOT NULL
) WITH (autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE failure_counts (
  hour bigint NOT NULL,
  class text NOT NULL,
  count bigint NOT NULL
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000);

CREATE TABLE heads (
  id text NOT NULL,
  kind text NOT NULL,
  version integer NOT NULL,
  status text NOT NULL,
  created_at bigint NOT NULL DEFAULT ((EXTRACT(epoch FROM now()) * (1000)::numeric))::bigint,
  finished_at timestamp with time zone,
  view json
) WITH (fillfactor=70);

CREATE TABLE outbox (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  messages json NOT NULL,
  event_ranges json NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  claimed_until timestamp with time zone
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0);

CREATE TABLE ownership (
  one boolean NOT NULL DEFAULT true,
  owner text,
  epoch bigint NOT NULL DEFAULT 0,
  until timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone,
  lasts_ms integer NOT NULL DEFAULT 3000,
  ran_out timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone,
  session integer,
  session_start timestamp with time zone
) WITH (fillfactor=50);

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

ALTER TABLE dead_letters ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (id);

ALTER TABLE event_runs ADD CONSTRAINT event_runs_first_check CHECK ((first > 0));

ALTER TABLE event_runs ADD CONSTRAINT event_runs_pkey PRIMARY KEY (aggregate, first);

ALTER TABLE failure_counts ADD CONSTRAINT failure_counts_pkey PRIMARY KEY (hour, class);

ALTER TABLE heads ADD CONSTRAINT heads_pkey PRIMARY KEY (id);

ALTER TABLE heads ADD CONSTRAINT heads_version_check CHECK ((version > 0));

ALTER TABLE outbox ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);

ALTER TABLE ownership ADD CONSTRAINT ownership_one_check CHECK (one);

ALTER TABLE ownership ADD CONSTRAINT ownership_owner_epoch_key UNIQUE (owner, epoch);

ALTER TABLE ownership ADD CONSTRAINT ownership_pkey PRIMARY KEY (one);

ALTER TABLE retention ADD CONSTRAINT retention_floor CHECK ((keep >= '4 days'::interval));

ALTER TABLE retention ADD CONSTRAINT retention_one_check CHECK (one);

ALTER TABLE retention ADD CONSTRAINT retention_pkey PRIMARY KEY (one);

ALTER TABLE shared_content ADD CONSTRAINT shared_content_pkey PRIMARY KEY (digest);

ALTER TABLE snapshots ADD CONSTRAINT snapshots_pkey PRIMARY KEY (aggregate);

ALTER TABLE timers ADD CONSTRAINT timers_pkey PRIMARY KEY (aggregate, name);

CREATE INDEX dead_letters_age ON recovery.dead_letters USING btree (created_at);

CREATE INDEX dead_letters_open ON recovery.dead_letters USING btree (place) WHERE (resolution IS NULL);

CREATE UNIQUE INDEX dead_letters_place ON recovery.dead_letters USING btree (place);

CREATE INDEX heads_finished ON recovery.heads USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX heads_open ON recovery.heads USING btree (created_at) WHERE (finished_at IS NULL);

CREATE INDEX heads_stuck ON recovery.heads USING btree (id) WHERE (status = 'stuck'::text);

CREATE INDEX timers_due ON recovery.timers USING btree (due_at);

CREATE VIEW events AS
 SELECT r.aggregate,
    (((r.first + e.place) - 1))::integer AS version,
    btrim(((e.data -> 'type'::text))::text, '"'::text) AS type,
    r.at,
    r.trace,
    e.data,
    r.first AS run
   FROM (recovery.event_runs r
     CROSS JOIN LATERAL json_array_elements(r.events) WITH ORDINALITY e(data, place));

CREATE VIEW first_events AS
 SELECT aggregate,
    at,
    (events -> 0) AS data
   FROM recovery.event_runs
  WHERE (first = 1);

CREATE OR REPLACE FUNCTION recovery.count_failures()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'recovery', 'pg_temp'
AS $function$
    BEGIN
      INSERT INTO failure_counts AS c (hour, class, count)
      SELECT (extract(epoch FROM at) * 1000)::bigint / 3600000 * 3600000, btrim((e.data->'verdict'->'class')::text, '"'), count(*)
        FROM added CROSS JOIN LATERAL json_array_elements(events) AS e(data)
       WHERE btrim((e.data->'type')::text, '"') = 'assessed' AND (e.data->'verdict'->'class')::text IS NOT NULL AND coalesce((e.data->'at')::text::bigint = (extract(epoch FROM at) * 1000)::bigint, true)
       GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (hour, class) DO UPDATE SET count = c.count + excluded.count;
      IF FOUND THEN
        DELETE FROM failure_counts WHERE (hour, class) IN (
          SELECT hour, class FROM failure_counts
           WHERE hour < (extract(epoch FROM now() - interval '400 days') * 1000)::bigint
           ORDER BY hour LIMIT 100 FOR UPDATE SKIP LOCKED);
      END IF;
      RETURN NULL;
    END
  $function$;

CREATE OR REPLACE FUNCTION recovery.note_end()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
    BEGIN
      NEW.finished_at := CASE WHEN NEW.status = ANY (TG_ARGV) THEN now() END;
      RETURN NEW;
    END
  $function$;

CREATE OR REPLACE FUNCTION recovery.purge(most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'recovery', 'pg_temp'
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
   WHERE t.id = h.id
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

CREATE TRIGGER events_counted AFTER INSERT ON recovery.event_runs REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION recovery.count_failures();

CREATE TRIGGER heads_inserted BEFORE INSERT ON recovery.heads FOR EACH ROW WHEN (((new.status = ANY (ARRAY['assessed'::text, 'circuit_closed'::text])) OR (new.finished_at IS NOT NULL))) EXECUTE FUNCTION recovery.note_end('assessed', 'circuit_closed');

CREATE TRIGGER heads_updated BEFORE UPDATE ON recovery.heads FOR EACH ROW WHEN (((new.status = ANY (ARRAY['assessed'::text, 'circuit_closed'::text])) OR (new.finished_at IS NOT NULL) OR (old.finished_at IS NOT NULL))) EXECUTE FUNCTION recovery.note_end('assessed', 'circuit_closed');
