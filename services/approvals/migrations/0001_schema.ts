import { createRuntimeTables, currentSchema, unlessTaskNeedsIt } from '@holdpoint/runtime/store/tables';
import { type Kysely, sql } from 'kysely';

export const up = async (db: Kysely<unknown>): Promise<void> => {
  await createRuntimeTables(db, {
    final: ['approved', 'rejected', 'changes_requested', 'answered', 'expired', 'cancelled', 'withdrawn'],
    unless: unlessTaskNeedsIt(),
    // The outcome of an effect that is polled keeps no approval.
    idle: ['outcome'],
  });
  await sql`CREATE INDEX heads_by_age ON heads (status, created_at, id)`.execute(db);
  // Every call with a token looks it up.
  await sql`CREATE UNIQUE INDEX heads_tokens ON heads ((view->>'sha256')) WHERE kind = 'token'`.execute(db);
  await createAudit(db);
  await createTables(db);
  await createReading(db);
  await createKeeping(db);
  await createIndexes(db);
};

/**
 * The database itself writes the audit log, in the transaction of each event: no service can omit, change or remove a line.
 * `auditHash` of the contracts defines the content and the hash of a line.
 */
const createAudit = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE audit (
    seq bigint PRIMARY KEY,
    at bigint NOT NULL,
    aggregate text NOT NULL,
    version int NOT NULL,
    type text NOT NULL,
    event_sha256 text NOT NULL,
    entry text NOT NULL,
    previous text NOT NULL,
    hash text NOT NULL
  )`.execute(db);
  await sql`CREATE INDEX audit_about ON audit (aggregate, seq)`.execute(db);
  // A writer locks this row until its commit, so that lines become visible in their order.
  await sql`CREATE TABLE audit_head (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    seq bigint NOT NULL,
    hash text NOT NULL
  ) WITH (fillfactor = 10)`.execute(db);
  await sql`INSERT INTO audit_head (seq, hash) VALUES (0, repeat('0', 64))`.execute(db);
  const schema = await currentSchema(db);
  const fields = sql.raw(LOGGED.map((name) => `"${name}" json`).join(', '));
  const logged = sql.raw(LOGGED.map((name) => `said."${name}"`).join(', '));
  // Effects and signatures are logged by their hashes: the log is kept longer than either.
  await sql`CREATE FUNCTION write_audit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ${schema}, pg_temp AS $$
    DECLARE
      lines audit[] := ARRAY(
        SELECT ROW(0, (extract(epoch FROM e.at) * 1000)::bigint, e.aggregate, e.version, e.type,
                   encode(sha256(convert_to(e.data::text, 'UTF8')), 'hex'),
                   json_strip_nulls(row_to_json(entry))::text, '', '')::audit
          FROM added e
         CROSS JOIN LATERAL json_to_record(e.data) AS said(
           ${fields}, effect json, statement json, "grant" text)
         CROSS JOIN LATERAL (SELECT ${logged},
             CASE json_typeof(said.effect) WHEN 'object' THEN said.effect->'uses' END AS uses,
             CASE json_typeof(said.effect) WHEN 'object' THEN said.effect->'target' END AS target,
             CASE json_typeof(said.effect) WHEN 'object' THEN said.effect->'kind' END AS kind,
             CASE e.type WHEN 'effect_outcome_recorded' THEN said.effect END AS effect,
             CASE e.type WHEN 'audit_anchored' THEN said.statement END AS statement,
             encode(sha256(convert_to(said."grant", 'UTF8')), 'hex') AS "grantSha256",
             CASE e.type WHEN 'resolved' THEN encode(sha256(convert_to(said.statement #>> '{}', 'UTF8')), 'hex') END
               AS "statementSha256") AS entry
         ORDER BY e.aggregate, e.version);
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
        line.previous := head.hash;
        line.hash := encode(sha256(convert_to(concat_ws(E'\n', line.previous, line.seq, line.at, line.aggregate,
          line.version, line.type, line.event_sha256, line.entry), 'UTF8')), 'hex');
        lines[place] := line;
        head.seq := line.seq;
        head.hash := line.hash;
      END LOOP;
      INSERT INTO audit SELECT * FROM unnest(lines);
      UPDATE audit_head SET seq = head.seq, hash = head.hash;
      RETURN NULL;
    END
  $$`.execute(db);
  await sql`REVOKE ALL ON FUNCTION write_audit() FROM PUBLIC`.execute(db);
  await sql`CREATE TRIGGER events_added AFTER INSERT ON events REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION write_audit()`.execute(db);
};

/** Fields of events in the lines of the log. */
const LOGGED = (
  'task node revision effectId digest title requestedBy audience policy floor gate workflow inDoubt input response agent ' +
  'expiresAt decision outcome by comment answer votes surface rule remembered code reminder step notice reference problem ' +
  'epoch approval requester spec author from reason name principal groups scopes seq hash key sealKey'
).split(' ');

/**
 * Requests that wait for a decision, in the order of the inbox. Triggers derive them from `heads` in the transaction of each
 * change. Names are stored as JSON text, so that every name can be compared, even one that no SQL text can hold.
 */
const createTables = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE inbox (
    id text PRIMARY KEY,
    requested_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    risk smallint NOT NULL,
    kind text NOT NULL,
    task text NOT NULL,
    requester text NOT NULL,
    words tsvector NOT NULL
  ) WITH (${QUEUE})`.execute(db);
  // One row per member of the audience, and one for all requests: each list is a range of one index.
  await sql`CREATE TABLE inbox_entries (
    id text NOT NULL,
    member text NOT NULL,
    requested_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    risk smallint NOT NULL,
    kind text NOT NULL,
    requester text NOT NULL,
    PRIMARY KEY (id, member)
  ) WITH (${QUEUE})`.execute(db);
};

const createIndexes = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE INDEX inbox_task ON inbox (task, requested_at, id)`.execute(db);
  // A pending list saves most of the work. Every search reads it, so it stays small.
  await sql`CREATE INDEX inbox_words ON inbox USING gin (words)
    WITH (fastupdate = on, gin_pending_list_limit = 512)`.execute(db);
  for (const [name, columns] of [
    ['oldest', 'member, requested_at, id'],
    ['expiring', 'member, expires_at, id'],
    ['kind_oldest', 'member, risk, kind, requested_at, id'],
    ['kind_expiring', 'member, risk, kind, expires_at, id'],
    ['requester_oldest', 'member, requester, risk, kind, requested_at, id'],
    ['requester_expiring', 'member, requester, risk, kind, expires_at, id'],
  ] as const)
    await sql`CREATE INDEX ${sql.id(`inbox_${name}`)} ON inbox_entries (${sql.raw(columns)})`.execute(db);
};

/** Functions that read an approval. */
const createReading = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE FUNCTION inbox_token(value json) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT btrim(value::text, '"')
  $$`.execute(db);
  // 0 is the highest risk, as in `riskOf` of the contracts.
  await sql`CREATE FUNCTION inbox_risk(effect json) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT (CASE
      WHEN inbox_token(kind) IN ('deploy', 'merge', 'destructive_edit') THEN 0
      WHEN inbox_token(kind) = 'write_external' THEN CASE WHEN inbox_token(class) = 'opaque' THEN 0 ELSE 1 END
      WHEN inbox_token(class) = 'opaque' THEN 1
      ELSE 2
    END)::smallint
    FROM (SELECT said.kind, said."effectClass" AS class
            FROM json_to_record(coalesce(effect, '{}')) AS said(kind json, "effectClass" json)) AS read
  $$`.execute(db);
  // Escapes of JSON end a word. Long words are cut.
  await sql`CREATE FUNCTION inbox_words(view json) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
    SELECT array_to_tsvector(ARRAY(
      SELECT left(word, 200)
        FROM json_to_record(view) AS request(title json, effect json, task json),
             json_to_record(coalesce(request.effect, '{}')) AS effect(target json, uses json),
             regexp_split_to_table(
               lower(regexp_replace(concat_ws(' ',
                 request.title::text, left(effect.target::text, 2000), effect.uses::text, request.task::text),
                 '\\\\(u[0-9a-fA-F]{4}|.)', ' ', 'g')),
               '[\\u0001-/:-@\\u005b-\\u0060{-\\u007f]+') AS word
       WHERE word <> ''))
  $$`.execute(db);
  await sql`CREATE FUNCTION inbox_audience(view json) RETURNS SETOF text LANGUAGE sql IMMUTABLE AS $$
    SELECT DISTINCT member::text FROM json_array_elements(view->'audience') AS member
  $$`.execute(db);
  // As many views as fit into the limit, but at least one.
  await sql`CREATE FUNCTION inbox_views(wanted text[], bytes_max int) RETURNS TABLE (id text, view json)
    LANGUAGE plpgsql STABLE AS $$
    DECLARE
      bytes bigint := 0;
    BEGIN
      FOR place IN 1 .. coalesce(cardinality(wanted), 0) LOOP
        SELECT h.id, h.view INTO id, view FROM heads h WHERE h.id = wanted[place];
        CONTINUE WHEN NOT FOUND;
        bytes := bytes + octet_length(view::text);
        EXIT WHEN bytes > bytes_max AND place > 1;
        RETURN NEXT;
      END LOOP;
    END
  $$`.execute(db);
};

const createKeeping = async (db: Kysely<unknown>): Promise<void> => {
  const schema = await currentSchema(db);
  await sql`CREATE FUNCTION add_to_inbox(head text, view json) RETURNS void LANGUAGE plpgsql
    SET search_path = ${schema}, pg_temp AS $$
    BEGIN
      WITH request AS (
        INSERT INTO inbox
        SELECT head, said."requestedAt", said."expiresAt", inbox_risk(said.effect), inbox_token(said.effect->'kind'),
               inbox_token(said.task), said."requestedBy"::text, inbox_words(view)
          FROM json_to_record(view) AS said("requestedAt" bigint, "expiresAt" bigint, effect json, task json,
               "requestedBy" json)
        RETURNING id, requested_at, expires_at, risk, kind, requester)
      INSERT INTO inbox_entries (id, member, requested_at, expires_at, risk, kind, requester)
      SELECT id, member, requested_at, expires_at, risk, kind, requester
        FROM request, (SELECT '' UNION ALL SELECT inbox_audience(view)) AS audience(member);
    END
  $$`.execute(db);
  await sql`CREATE FUNCTION keep_inbox() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ${schema}, pg_temp AS $$
    BEGIN
      IF TG_OP = 'UPDATE' AND NEW.status = OLD.status
         AND (NEW.view->'audience')::text IS NOT DISTINCT FROM (OLD.view->'audience')::text THEN
        RETURN NULL; -- a vote or a reminder
      END IF;
      IF TG_OP <> 'INSERT' THEN
        DELETE FROM inbox_entries WHERE id = OLD.id;
        DELETE FROM inbox WHERE id = OLD.id;
      END IF;
      IF TG_OP <> 'DELETE' AND NEW.status = 'pending' AND NEW.view IS NOT NULL THEN
        PERFORM add_to_inbox(NEW.id, NEW.view);
      END IF;
      RETURN NULL;
    END
  $$`.execute(db);
  await sql`REVOKE ALL ON FUNCTION keep_inbox(), add_to_inbox(text, json) FROM PUBLIC`.execute(db);
  await sql`CREATE TRIGGER heads_asked AFTER INSERT ON heads FOR EACH ROW
    WHEN (NEW.status = 'pending') EXECUTE FUNCTION keep_inbox()`.execute(db);
  await sql`CREATE TRIGGER heads_changed AFTER UPDATE ON heads FOR EACH ROW
    WHEN (NEW.status = 'pending' OR OLD.status = 'pending') EXECUTE FUNCTION keep_inbox()`.execute(db);
  await sql`CREATE TRIGGER heads_removed AFTER DELETE ON heads FOR EACH ROW
    WHEN (OLD.status = 'pending') EXECUTE FUNCTION keep_inbox()`.execute(db);
};

// Rows come and go at the front: vacuum by count, not by share, and without pauses.
const QUEUE = sql.raw(
  'autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.02',
);
