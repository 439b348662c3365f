import {
  createOwnershipTable,
  createRuntimeTables,
  currentSchema,
  tokenIn,
  unlessTaskNeedsIt,
} from '@holdpoint/runtime/store/tables';
import { type Kysely, sql } from 'kysely';

export const up = async (db: Kysely<unknown>): Promise<void> => {
  await createRuntimeTables(db, {
    // A sign-in ends by its time, long before it is purged.
    final: [
      'approved',
      'rejected',
      'changes_requested',
      'answered',
      'expired',
      'cancelled',
      'withdrawn',
      'sign_in',
    ],
    unless: unlessTaskNeedsIt(),
    // The outcome of an effect that is polled keeps no approval.
    idle: ['outcome'],
    indexesViews: true,
  });
  await createOwnershipTable(db);
  await sql`CREATE INDEX heads_by_age ON heads (status, created_at, id)`.execute(db);
  // Every call with a token looks it up.
  await sql`CREATE UNIQUE INDEX heads_tokens ON heads ((view->>'sha256')) WHERE kind = 'token'`.execute(db);
  await createAudit(db);
  await createTables(db);
  await createReading(db);
  await createKeeping(db);
  await createIndexes(db);
  await createTokenUses(db);
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
    event_sha256 bytea NOT NULL,
    entry text NOT NULL,
    previous bytea NOT NULL,
    hash bytea NOT NULL
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
  const logged = sql.lit(`{${LOGGED.join(',')}}`);
  // Effects and signatures are logged by their hashes: the log is kept longer than either.
  await sql`CREATE FUNCTION write_audit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ${schema}, pg_temp AS $$
    DECLARE
      lines audit[] := ARRAY(
        SELECT ROW(0, (extract(epoch FROM r.at) * 1000)::bigint, r.aggregate, r.first + e.place - 1, ${tokenIn('type')},
                   sha256(convert_to(e.data::text, 'UTF8')), '{' || coalesce(entry.fields, '') || '}', '', '')::audit
          FROM added r
         CROSS JOIN LATERAL json_array_elements(r.events) WITH ORDINALITY AS e(data, place)
         CROSS JOIN LATERAL (
           SELECT string_agg(${loggedAs}, ',') AS fields
             FROM json_each(e.data) AS said(key, value)
            WHERE key = ANY (${logged}) AND value::text <> 'null') AS entry
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
        line.hash := sha256(convert_to(concat_ws(E'\n', head.hash, line.seq, line.at, line.aggregate,
          line.version, line.type, encode(line.event_sha256, 'hex'), line.entry), 'UTF8'));
        lines[place] := line;
        head.seq := line.seq;
        head.hash := encode(line.hash, 'hex');
      END LOOP;
      INSERT INTO audit SELECT * FROM unnest(lines);
      UPDATE audit_head SET seq = head.seq, hash = head.hash;
      RETURN NULL;
    END
  $$`.execute(db);
  await sql`REVOKE ALL ON FUNCTION write_audit() FROM PUBLIC`.execute(db);
  await sql`CREATE TRIGGER events_added AFTER INSERT ON event_runs REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION write_audit()`.execute(db);
};

/** A field of an event, as a line of the log has it. */
const loggedAs = sql`CASE key
  WHEN 'effect' THEN CASE
    WHEN json_typeof(value) = 'object' THEN nullif(concat_ws(',', '"uses":' || (value->'uses')::text,
      '"target":' || (value->'target')::text, '"kind":' || (value->'kind')::text), '')
    WHEN ${tokenIn('type')} = 'effect_outcome_recorded' THEN '"effect":' || value::text END
  WHEN 'statement' THEN CASE ${tokenIn('type')}
    WHEN 'audit_anchored' THEN '"statement":' || value::text
    WHEN 'resolved' THEN '"statementSha256":"' || encode(sha256(convert_to(value #>> '{}', 'UTF8')), 'hex') || '"' END
  WHEN 'grant' THEN '"grantSha256":"' || encode(sha256(convert_to(value #>> '{}', 'UTF8')), 'hex') || '"'
  ELSE '"' || key || '":' || value::text END`;

/** Fields of events in the lines of the log. */
const LOGGED = (
  'effect statement grant task node revision effectId digest title requestedBy audience policy floor gate workflow ' +
  'inDoubt input response agent expiresAt decision outcome by comment answer votes surface rule remembered code reminder ' +
  'step notice reference problem epoch approval requester spec author from reason name principal groups scopes seq hash ' +
  'key sealKey'
).split(' ');

/**
 * Requests that wait for a decision, in the order of the inbox. The service writes the rows with each change of a request, and
 * they end with it. One row per member of the audience, and one without a member for all requests, which a search and a task
 * find: each list is a range of one index. Names are stored as JSON text, so that every name can be compared, even one that
 * no SQL text can hold.
 */
const createTables = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE inbox (
    id text NOT NULL,
    member text NOT NULL,
    requested_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    risk smallint NOT NULL,
    kind text NOT NULL,
    requester text NOT NULL,
    task text,
    words tsvector,
    PRIMARY KEY (id, member)
  ) WITH (${QUEUE})`.execute(db);
};

/** The latest use of each token, to the minute. It grants nothing, so it is no event. */
const createTokenUses = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE token_uses (
    id text PRIMARY KEY,
    used_at bigint NOT NULL
  )`.execute(db);
};

const createIndexes = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE INDEX inbox_task ON inbox (task, requested_at, id) WHERE member = ''`.execute(db);
  // A pending list saves most of the work. Every search reads it, so it stays small.
  await sql`CREATE INDEX inbox_words ON inbox USING gin (words)
    WITH (fastupdate = on, gin_pending_list_limit = 512) WHERE member = ''`.execute(db);
  for (const [name, columns] of [
    ['oldest', 'member, requested_at, id'],
    ['expiring', 'member, expires_at, id'],
    ['kind_oldest', 'member, risk, kind, requested_at, id'],
    ['kind_expiring', 'member, risk, kind, expires_at, id'],
    ['requester_oldest', 'member, requester, risk, kind, requested_at, id'],
    ['requester_expiring', 'member, requester, risk, kind, expires_at, id'],
  ] as const)
    await sql`CREATE INDEX ${sql.id(`inbox_${name}`)} ON inbox (${sql.raw(columns)})`.execute(db);
};

/** Functions that read an approval. */
const createReading = async (db: Kysely<unknown>): Promise<void> => {
  // The head has the progress of a request only: each change writes it anew. A field of both is the progress.
  await sql`CREATE FUNCTION request_view(asked json, progress json) RETURNS json LANGUAGE sql IMMUTABLE AS $$
    SELECT (left(asked::text, -1) || ',' || substr(progress::text, 2))::json
  $$`.execute(db);
  await sql`CREATE VIEW requests AS
    SELECT h.id, h.status, h.created_at, h.view AS progress, e.data AS asked, request_view(e.data, h.view) AS view
      FROM heads h JOIN first_events e ON e.aggregate = h.id
     WHERE h.kind = 'approval' AND h.status <> 'withdrawn'`.execute(db);
  await sql`CREATE FUNCTION inbox_token(value json) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT btrim(value::text, '"')
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
        SELECT r.id, r.view INTO id, view FROM requests r WHERE r.id = wanted[place];
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
  await sql`CREATE FUNCTION leave_inbox() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ${schema}, pg_temp AS $$
    BEGIN
      DELETE FROM inbox WHERE id = OLD.id;
      RETURN NULL;
    END
  $$`.execute(db);
  await sql`REVOKE ALL ON FUNCTION leave_inbox() FROM PUBLIC`.execute(db);
  await sql`CREATE TRIGGER heads_removed AFTER DELETE ON heads FOR EACH ROW
    WHEN (OLD.status = 'pending') EXECUTE FUNCTION leave_inbox()`.execute(db);
};

// Rows come and go at the front: vacuum by count, not by share, and without pauses.
const QUEUE = sql.raw(
  'autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.02',
);
