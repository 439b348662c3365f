CREATE TABLE bus_watermark (
  one boolean NOT NULL DEFAULT true,
  seen jsonb NOT NULL
) WITH (fillfactor=50);

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

CREATE TABLE heads (
  id text NOT NULL,
  kind text NOT NULL,
  version integer NOT NULL,
  status text NOT NULL,
  created_at bigint NOT NULL DEFAULT ((EXTRACT(epoch FROM now()) * (1000)::numeric))::bigint,
  finished_at timestamp with time zone,
  view json
) WITH (fillfactor=70);

CREATE TABLE listed (
  id text NOT NULL,
  created_at bigint NOT NULL DEFAULT ((EXTRACT(epoch FROM now()) * (1000)::numeric))::bigint,
  flow text NOT NULL,
  workflow text NOT NULL,
  requester text NOT NULL,
  words tsvector NOT NULL
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

CREATE TABLE programs (
  hash text NOT NULL,
  id text NOT NULL,
  version text NOT NULL,
  definition jsonb NOT NULL,
  place bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  registered_at timestamp with time zone NOT NULL DEFAULT now()
);

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

ALTER TABLE bus_watermark ADD CONSTRAINT bus_watermark_one_check CHECK (one);

ALTER TABLE bus_watermark ADD CONSTRAINT bus_watermark_pkey PRIMARY KEY (one);

ALTER TABLE dead_letters ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (id);

ALTER TABLE event_runs ADD CONSTRAINT event_runs_first_check CHECK ((first > 0));

ALTER TABLE event_runs ADD CONSTRAINT event_runs_pkey PRIMARY KEY (aggregate, first);

ALTER TABLE heads ADD CONSTRAINT heads_pkey PRIMARY KEY (id);

ALTER TABLE heads ADD CONSTRAINT heads_version_check CHECK ((version > 0));

ALTER TABLE listed ADD CONSTRAINT listed_pkey PRIMARY KEY (id);

ALTER TABLE object_chunks ADD CONSTRAINT object_chunks_pkey PRIMARY KEY (upload, part);

ALTER TABLE objects ADD CONSTRAINT objects_pkey PRIMARY KEY (sha256);

ALTER TABLE objects ADD CONSTRAINT objects_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text));

ALTER TABLE objects ADD CONSTRAINT objects_upload_key UNIQUE (upload);

ALTER TABLE outbox ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);

ALTER TABLE ownership ADD CONSTRAINT ownership_one_check CHECK (one);

ALTER TABLE ownership ADD CONSTRAINT ownership_owner_epoch_key UNIQUE (owner, epoch);

ALTER TABLE ownership ADD CONSTRAINT ownership_pkey PRIMARY KEY (one);

ALTER TABLE programs ADD CONSTRAINT programs_pkey PRIMARY KEY (hash);

ALTER TABLE retention ADD CONSTRAINT retention_floor CHECK ((keep >= '4 days'::interval));

ALTER TABLE retention ADD CONSTRAINT retention_one_check CHECK (one);

ALTER TABLE retention ADD CONSTRAINT retention_pkey PRIMARY KEY (one);

ALTER TABLE shared_content ADD CONSTRAINT shared_content_pkey PRIMARY KEY (digest);

ALTER TABLE snapshots ADD CONSTRAINT snapshots_pkey PRIMARY KEY (aggregate);

ALTER TABLE timers ADD CONSTRAINT timers_pkey PRIMARY KEY (aggregate, name);

CREATE INDEX dead_letters_age ON orchestrator.dead_letters USING btree (created_at);

CREATE INDEX dead_letters_open ON orchestrator.dead_letters USING btree (place) WHERE (resolution IS NULL);

CREATE UNIQUE INDEX dead_letters_place ON orchestrator.dead_letters USING btree (place);

CREATE INDEX heads_finished ON orchestrator.heads USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX heads_latest ON orchestrator.heads USING btree (created_at DESC, id DESC);

CREATE INDEX heads_open ON orchestrator.heads USING btree (created_at) WHERE (finished_at IS NULL);

CREATE INDEX heads_phase ON orchestrator.heads USING btree (status, created_at DESC, id DESC);

CREATE INDEX listed_flow ON orchestrator.listed USING btree (flow, created_at DESC, id DESC);

CREATE INDEX listed_requester ON orchestrator.listed USING btree (requester, created_at DESC, id DESC);

CREATE INDEX listed_words ON orchestrator.listed USING gin (words) WITH (fastupdate='on', gin_pending_list_limit='512');

CREATE INDEX object_chunks_age ON orchestrator.object_chunks USING btree (created_at);

CREATE INDEX objects_age ON orchestrator.objects USING btree (stored_at);

CREATE UNIQUE INDEX programs_place ON orchestrator.programs USING btree (place);

CREATE INDEX timers_due ON orchestrator.timers USING btree (due_at);

CREATE VIEW events AS
 SELECT r.aggregate,
    (((r.first + e.place) - 1))::integer AS version,
    btrim(((e.data -> 'type'::text))::text, '"'::text) AS type,
    r.at,
    r.trace,
    e.data,
    r.first AS run
   FROM (orchestrator.event_runs r
     CROSS JOIN LATERAL json_array_elements(r.events) WITH ORDINALITY e(data, place));

CREATE VIEW first_events AS
 SELECT aggregate,
    at,
    (events -> 0) AS data
   FROM orchestrator.event_runs
  WHERE (first = 1);

CREATE OR REPLACE FUNCTION orchestrator.note_end()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
    BEGIN
      NEW.finished_at := CASE WHEN NEW.status = ANY (TG_ARGV) THEN now() END;
      RETURN NEW;
    END
  $function$;

CREATE OR REPLACE FUNCTION orchestrator.purge(most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'orchestrator', 'pg_temp'
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
           AND NOT (
  EXISTS (SELECT FROM recovery.heads r WHERE r.id = h.id)
  OR EXISTS (
    SELECT FROM events e
     WHERE e.aggregate = h.id AND e.type IN ('approval_requested', 'step_ordered', 'input_requested')
       AND (EXISTS (SELECT FROM approvals.heads a WHERE a.id = btrim((e.data->'approval')::text, '"'))
         OR EXISTS (SELECT FROM executor.heads x WHERE x.id = btrim((e.data->'effectId')::text, '"')))))
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

CREATE OR REPLACE FUNCTION orchestrator.unlist()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'orchestrator', 'pg_temp'
AS $function$
    BEGIN
      DELETE FROM listed WHERE id = OLD.id;
      RETURN NULL;
    END
  $function$;

CREATE TRIGGER heads_inserted BEFORE INSERT ON orchestrator.heads FOR EACH ROW WHEN (((new.status = ANY (ARRAY['completed'::text, 'failed'::text, 'cancelled'::text, 'tombstone'::text])) OR (new.finished_at IS NOT NULL))) EXECUTE FUNCTION orchestrator.note_end('completed', 'failed', 'cancelled', 'tombstone');

CREATE TRIGGER heads_unlisted AFTER DELETE ON orchestrator.heads FOR EACH ROW WHEN (((old.kind <> 'registry'::text) AND (old.status <> 'tombstone'::text))) EXECUTE FUNCTION orchestrator.unlist();

CREATE TRIGGER heads_updated BEFORE UPDATE ON orchestrator.heads FOR EACH ROW WHEN (((new.status = ANY (ARRAY['completed'::text, 'failed'::text, 'cancelled'::text, 'tombstone'::text])) OR (new.finished_at IS NOT NULL) OR (old.finished_at IS NOT NULL))) EXECUTE FUNCTION orchestrator.note_end('completed', 'failed', 'cancelled', 'tombstone');
