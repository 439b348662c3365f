import { type Kysely, sql } from 'kysely';

/**
 * What waits for a decision, in the order in which people look at it. The database keeps it from `heads`, in the transaction
 * of each change, so that it is true whichever release writes them. Names are kept the way JSON writes them: so written, whatever
 * is asked for can be compared with them, also what no text of the server can hold.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await createTables(db);
  await createReading(db);
  await createKeeping(db);
  await sql`SELECT add_to_inbox(id, view) FROM heads WHERE status = 'pending' AND view IS NOT NULL`.execute(
    db,
  );
  await createIndexes(db);
  await sql`ANALYZE inbox, inbox_entries`.execute(db);
};

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
  // One for each name that it is put to, and one for everybody: whatever is asked for stands together, in order.
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
  // Without a list of what is still to be added: every search would have to read it.
  await sql`CREATE INDEX inbox_words ON inbox USING gin (words) WITH (fastupdate = off)`.execute(db);
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

/** What of an approval is looked for. */
const createReading = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE FUNCTION inbox_token(value json) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT btrim(value::text, '"')
  $$`.execute(db);
  // 0 is the highest, as `riskOf` of the contracts has it. Requests of earlier releases do not say it themselves.
  await sql`CREATE FUNCTION inbox_risk(effect json) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT (CASE
      WHEN inbox_token(effect->'kind') IN ('deploy', 'merge', 'destructive_edit') THEN 0
      WHEN inbox_token(effect->'kind') = 'write_external'
        THEN CASE WHEN inbox_token(effect->'effectClass') = 'opaque' THEN 0 ELSE 1 END
      WHEN inbox_token(effect->'effectClass') = 'opaque' THEN 1
      ELSE 2
    END)::smallint
  $$`.execute(db);
  // Escapes of JSON end a word. A word is cut where nobody types on.
  await sql`CREATE FUNCTION inbox_words(view json) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
    SELECT array_to_tsvector(coalesce(array_agg(DISTINCT left(word, 200)), '{}'))
      FROM regexp_split_to_table(
        lower(regexp_replace(concat_ws(' ',
          (view->'title')::text, left((view->'effect'->'target')::text, 2000),
          (view->'effect'->'uses')::text, (view->'task')::text), '\\\\(u[0-9a-fA-F]{4}|.)', ' ', 'g')),
        '[\\u0001-/:-@\\u005b-\\u0060{-\\u007f]+') AS word
     WHERE word <> ''
  $$`.execute(db);
  await sql`CREATE FUNCTION inbox_audience(view json) RETURNS SETOF text LANGUAGE sql IMMUTABLE AS $$
    SELECT DISTINCT member::text FROM json_array_elements(view->'audience') AS member
  $$`.execute(db);
  // As many as fit: what does not go out is not read either. The first always does.
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
  const { rows } = await sql<{ schema: string }>`SELECT current_schema() AS schema`.execute(db);
  const schema = sql.id(rows[0]?.schema ?? '');
  await sql`CREATE FUNCTION add_to_inbox(head text, view json) RETURNS void LANGUAGE plpgsql
    SET search_path = ${schema}, pg_temp AS $$
    DECLARE
      request inbox;
    BEGIN
      INSERT INTO inbox VALUES (head, (view->'requestedAt')::text::bigint, (view->'expiresAt')::text::bigint,
        inbox_risk(view->'effect'), inbox_token(view->'effect'->'kind'), inbox_token(view->'task'),
        (view->'requestedBy')::text, inbox_words(view))
      RETURNING * INTO request;
      INSERT INTO inbox_entries (id, member, requested_at, expires_at, risk, kind, requester)
      SELECT request.id, member, request.requested_at, request.expires_at, request.risk, request.kind,
             request.requester
        FROM (SELECT '' UNION ALL SELECT inbox_audience(view)) AS audience(member);
    END
  $$`.execute(db);
  await sql`CREATE FUNCTION keep_inbox() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ${schema}, pg_temp AS $$
    BEGIN
      IF TG_OP = 'UPDATE' AND NEW.status = OLD.status
         AND (NEW.view->'audience')::text IS NOT DISTINCT FROM (OLD.view->'audience')::text THEN
        RETURN NULL; -- somebody has voted, or was reminded
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

// Rows come and go from the front: what is gone is cleared by count, not by share, and without pauses.
const QUEUE = sql.raw(
  'autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.02',
);
