CREATE TABLE audit (
  seq bigint NOT NULL,
  at bigint NOT NULL,
  aggregate text NOT NULL,
  version integer NOT NULL,
  type text NOT NULL,
  event_sha256 bytea NOT NULL,
  entry text NOT NULL,
  previous bytea NOT NULL,
  hash bytea NOT NULL
);

CREATE TABLE audit_head (
  one boolean NOT NULL DEFAULT true,
  seq bigint NOT NULL,
  hash text NOT NULL
) WITH (fillfactor=10);

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
) WITH (fillfactor=100);

CREATE TABLE inbox (
  id text NOT NULL,
  member text NOT NULL,
  requested_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  risk smallint NOT NULL,
  kind text NOT NULL,
  requester text NOT NULL,
  task text,
  words tsvector
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0, autovacuum_analyze_scale_factor=0.02);

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

CREATE TABLE token_uses (
  id text NOT NULL,
  used_at bigint NOT NULL
);

ALTER TABLE audit ADD CONSTRAINT audit_pkey PRIMARY KEY (seq);

ALTER TABLE audit_head ADD CONSTRAINT audit_head_one_check CHECK (one);

ALTER TABLE audit_head ADD CONSTRAINT audit_head_pkey PRIMARY KEY (one);

ALTER TABLE dead_letters ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (id);

ALTER TABLE event_runs ADD CONSTRAINT event_runs_first_check CHECK ((first > 0));

ALTER TABLE event_runs ADD CONSTRAINT event_runs_pkey PRIMARY KEY (aggregate, first);

ALTER TABLE heads ADD CONSTRAINT heads_pkey PRIMARY KEY (id);

ALTER TABLE heads ADD CONSTRAINT heads_version_check CHECK ((version > 0));

ALTER TABLE inbox ADD CONSTRAINT inbox_pkey PRIMARY KEY (id, member);

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

ALTER TABLE token_uses ADD CONSTRAINT token_uses_pkey PRIMARY KEY (id);

CREATE INDEX audit_about ON approvals.audit USING btree (aggregate, seq);

CREATE INDEX dead_letters_age ON approvals.dead_letters USING btree (created_at);

CREATE INDEX dead_letters_open ON approvals.dead_letters USING btree (place) WHERE (resolution IS NULL);

CREATE UNIQUE INDEX dead_letters_place ON approvals.dead_letters USING btree (place);

CREATE INDEX heads_by_age ON approvals.heads USING btree (status, created_at, id);

CREATE INDEX heads_finished ON approvals.heads USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX heads_open ON approvals.heads USING btree (created_at) WHERE (finished_at IS NULL);

CREATE UNIQUE INDEX heads_tokens ON approvals.heads USING btree (((view ->> 'sha256'::text))) WHERE (kind = 'token'::text);

CREATE INDEX inbox_expiring ON approvals.inbox USING btree (member, expires_at, id);

CREATE INDEX inbox_kind_expiring ON approvals.inbox USING btree (member, risk, kind, expires_at, id);

CREATE INDEX inbox_kind_oldest ON approvals.inbox USING btree (member, risk, kind, requested_at, id);

CREATE INDEX inbox_oldest ON approvals.inbox USING btree (member, requested_at, id);

CREATE INDEX inbox_requester_expiring ON approvals.inbox USING btree (member, requester, risk, kind, expires_at, id);

CREATE INDEX inbox_requester_oldest ON approvals.inbox USING btree (member, requester, risk, kind, requested_at, id);

CREATE INDEX inbox_task ON approvals.inbox USING btree (task, requested_at, id) WHERE (member = ''::text);

CREATE INDEX inbox_words ON approvals.inbox USING gin (words) WITH (fastupdate='on', gin_pending_list_limit='512') WHERE (member = ''::text);

CREATE INDEX timers_due ON approvals.timers USING btree (due_at);

CREATE VIEW events AS
 SELECT r.aggregate,
    (((r.first + e.place) - 1))::integer AS version,
    btrim(((e.data -> 'type'::text))::text, '"'::text) AS type,
    r.at,
    r.trace,
    e.data,
    r.first AS run
   FROM (approvals.event_runs r
     CROSS JOIN LATERAL json_array_elements(r.events) WITH ORDINALITY e(data, place));

CREATE VIEW first_events AS
 SELECT aggregate,
    at,
    (events -> 0) AS data
   FROM approvals.event_runs
  WHERE (first = 1);

CREATE VIEW requests AS
 SELECT h.id,
    h.status,
    h.created_at,
    h.view AS progress,
    e.data AS asked,
    approvals.request_view(e.data, h.view) AS view
   FROM (approvals.heads h
     JOIN approvals.first_events e ON ((e.aggregate = h.id)))
  WHERE ((h.kind = 'approval'::text) AND (h.status <> 'withdrawn'::text));

CREATE OR REPLACE FUNCTION approvals.inbox_audience(view json)
 RETURNS SETOF text
 LANGUAGE sql
 IMMUTABLE
AS $function$
    SELECT DISTINCT member::text FROM json_array_elements(view->'audience') AS member
  $function$;

CREATE OR REPLACE FUNCTION approvals.inbox_token(value json)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
    SELECT btrim(value::text, '"')
  $function$;

CREATE OR REPLACE FUNCTION approvals.inbox_views(wanted text[], bytes_max integer)
 RETURNS TABLE(id text, view json)
 LANGUAGE plpgsql
 STABLE
AS $function$
    DECLARE
      bytes bigint := 0;
    BEGIN
      FOR place IN 1 .. coalesce(cardinality(wanted), 0) LOOP
        SELECT r.id, r.view INTO id, view FROM requests r WHERE r.id = wanted[place];
        CONTINUE WHEN NOT FOUND;
        bytes := bytes + octet_length(view::text);
        EXIT WHEN bytes > bytes_max AND place > 1;
        RETURN NEXT;
      END LOOP;
    END
  $function$;

CREATE OR REPLACE FUNCTION approvals.leave_inbox()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'approvals', 'pg_temp'
AS $function$
    BEGIN
      DELETE FROM inbox WHERE id = OLD.id;
      RETURN NULL;
    END
  $function$;

CREATE OR REPLACE FUNCTION approvals.note_end()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
    BEGIN
      NEW.finished_at := CASE WHEN NEW.status = ANY (TG_ARGV) THEN now() END;
      RETURN NEW;
    END
  $function$;

CREATE OR REPLACE FUNCTION approvals.purge(most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'approvals', 'pg_temp'
AS $function$
    DECLARE
      due timestamptz := least(now() - (SELECT keep FROM retention),
                               (SELECT created_at FROM outbox ORDER BY id LIMIT 1));
      gone text[];
    BEGIN
      gone := ARRAY(
        SELECT h.id FROM heads h
         WHERE h.finished_at < due
           AND NOT EXISTS (SELECT FROM timers w WHERE w.aggregate = h.id AND w.name <> ALL (ARRAY['outcome']::text[]))
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

CREATE OR REPLACE FUNCTION approvals.request_view(asked json, progress json)
 RETURNS json
 LANGUAGE sql
 IMMUTABLE
AS $function$
    SELECT (left(asked::text, -1) || ',' || substr(progress::text, 2))::json
  $function$;

CREATE OR REPLACE FUNCTION approvals.write_audit()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'approvals', 'pg_temp'
AS $function$
    DECLARE
      lines audit[] := ARRAY(
        SELECT ROW(0, (extract(epoch FROM r.at) * 1000)::bigint, r.aggregate, r.first + e.place - 1, btrim((e.data->'type')::text, '"'),
                   sha256(convert_to(e.data::text, 'UTF8')), '{' || coalesce(entry.fields, '') || '}', '', '')::audit
          FROM added r
         CROSS JOIN LATERAL json_array_elements(r.events) WITH ORDINALITY AS e(data, place)
         CROSS JOIN LATERAL (
           SELECT string_agg(CASE key
  WHEN 'effect' THEN CASE
    WHEN json_typeof(value) = 'object' THEN nullif(concat_ws(',', '"uses":' || (value->'uses')::text,
      '"target":' || (value->'target')::text, '"kind":' || (value->'kind')::text), '')
    WHEN btrim((e.data->'type')::text, '"') = 'effect_outcome_recorded' THEN '"effect":' || value::text END
  WHEN 'statement' THEN CASE btrim((e.data->'type')::text, '"')
    WHEN 'audit_anchored' THEN '"statement":' || value::text
    WHEN 'resolved' THEN '"statementSha256":"' || encode(sha256(convert_to(value #>> '{}', 'UTF8')), 'hex') || '"' END
  WHEN 'grant' THEN '"grantSha256":"' || encode(sha256(convert_to(value #>> '{}', 'UTF8')), 'hex') || '"'
  ELSE '"' || key || '":' || value::text END, ',') AS fields
             FROM json_each(e.data) AS said(key, value)
            WHERE key = ANY ('{effect,statement,grant,task,node,revision,effectId,digest,title,requestedBy,audience,policy,floor,gate,workflow,inDoubt,input,response,agent,expiresAt,decision,outcome,by,comment,answer,votes,surface,rule,remembered,code,reminder,step,notice,reference,problem,epoch,approval,requester,spec,author,from,reason,name,principal,groups,scopes,seq,hash,key,sealKey}') AND value::text <> 'null') AS entry
         ORDER BY r.aggregate, r.first, e.place);
      line audit;
      head audit_head;
    BEGIN
      IF cardinality(lines) = 0 THEN
        RETURN NULL;
      END IF;
      SELECT * INTO head FROM audit_head FOR UPDATE;
      FOR place IN 1 .. cardinality(lines) LOOP
        line := lines[place];
        line.seq := head.seq + 1;
        line.previous := decode(head.hash, 'hex');
        line.hash := sha256(convert_to(concat_ws(E'
', head.hash, line.seq, line.at, line.aggregate,
          line.version, line.type, encode(line.event_sha256, 'hex'), line.entry), 'UTF8'));
        lines[place] := line;
        head.seq := line.seq;
        head.hash := encode(line.hash, 'hex');
      END LOOP;
      INSERT INTO audit SELECT * FROM unnest(lines);
      UPDATE audit_head SET seq = head.seq, hash = head.hash;
      RETURN NULL;
    END
  $function$;

CREATE TRIGGER events_added AFTER INSERT ON approvals.event_runs REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION approvals.write_audit();

CREATE TRIGGER heads_inserted BEFORE INSERT ON approvals.heads FOR EACH ROW WHEN (((new.status = ANY (ARRAY['approved'::text, 'rejected'::text, 'changes_requested'::text, 'answered'::text, 'expired'::text, 'cancelled'::text, 'withdrawn'::text, 'sign_in'::text])) OR (new.finished_at IS NOT NULL))) EXECUTE FUNCTION approvals.note_end('approved', 'rejected', 'changes_requested', 'answered', 'expired', 'cancelled', 'withdrawn', 'sign_in');

CREATE TRIGGER heads_removed AFTER DELETE ON approvals.heads FOR EACH ROW WHEN ((old.status = 'pending'::text)) EXECUTE FUNCTION approvals.leave_inbox();

CREATE TRIGGER heads_updated BEFORE UPDATE ON approvals.heads FOR EACH ROW WHEN (((new.status = ANY (ARRAY['approved'::text, 'rejected'::text, 'changes_requested'::text, 'answered'::text, 'expired'::text, 'cancelled'::text, 'withdrawn'::text, 'sign_in'::text])) OR (new.finished_at IS NOT NULL) OR (old.finished_at IS NOT NULL))) EXECUTE FUNCTION approvals.note_end('approved', 'rejected', 'changes_requested', 'answered', 'expired', 'cancelled', 'withdrawn', 'sign_in');
