import { createRetire, unlessTaskNeedsIt } from '@holdpoint/runtime/store/retention';
import { type Kysely, sql } from 'kysely';

/**
 * The database itself writes the audit log, in the transaction of each event: no service can leave a line out, change one or
 * take one back. What a line consists of, and how it is hashed, is `auditHash` of the contracts.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
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
  // Whoever writes holds this row until it has committed, so that lines become visible in their order.
  await sql`CREATE TABLE audit_head (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    seq bigint NOT NULL,
    hash text NOT NULL
  ) WITH (fillfactor = 10)`.execute(db);
  await sql`INSERT INTO audit_head (seq, hash) VALUES (0, repeat('0', 64))`.execute(db);
  const { rows } = await sql<{ schema: string }>`SELECT current_schema() AS schema`.execute(db);
  const schema = sql.id(rows[0]?.schema ?? '');
  // What the effect itself is, and what is signed, is told by its hash: the log is kept for longer than either.
  await sql`CREATE FUNCTION audit_entry(e json) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT json_strip_nulls(json_build_object(
      'task', e->'task', 'node', e->'node', 'revision', e->'revision', 'effectId', e->'effectId',
      'digest', e->'digest', 'title', e->'title', 'requestedBy', e->'requestedBy', 'audience', e->'audience',
      'policy', e->'policy', 'gate', e->'gate', 'workflow', e->'workflow', 'inDoubt', e->'inDoubt',
      'expiresAt', e->'expiresAt', 'decision', e->'decision', 'outcome', e->'outcome', 'by', e->'by',
      'comment', e->'comment', 'answer', e->'answer', 'votes', e->'votes', 'surface', e->'surface',
      'rule', e->'rule', 'remembered', e->'remembered', 'code', e->'code', 'reminder', e->'reminder',
      'step', e->'step', 'notice', e->'notice', 'reference', e->'reference', 'problem', e->'problem',
      'epoch', e->'epoch', 'approval', e->'approval', 'requester', e->'requester', 'spec', e->'spec',
      'author', e->'author', 'from', e->'from', 'reason', e->'reason', 'name', e->'name',
      'principal', e->'principal', 'groups', e->'groups', 'scopes', e->'scopes', 'seq', e->'seq',
      'hash', e->'hash', 'statement', CASE WHEN e->>'type' = 'audit_anchored' THEN e->'statement' END,
      'effect', CASE WHEN e->>'type' = 'effect_outcome_recorded' THEN e->'effect' END,
      'uses', e->'effect'->'uses', 'target', e->'effect'->'target', 'kind', e->'effect'->'kind',
      'grantSha256', encode(sha256(convert_to(e->>'grant', 'UTF8')), 'hex'),
      'statementSha256', CASE WHEN e->>'type' = 'resolved'
        THEN encode(sha256(convert_to(e->>'statement', 'UTF8')), 'hex') END
    ))::text
  $$`.execute(db);
  await sql`CREATE FUNCTION write_audit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ${schema}, pg_temp AS $$
    DECLARE
      head audit_head;
      line record;
    BEGIN
      IF NOT EXISTS (SELECT FROM added) THEN
        RETURN NULL;
      END IF;
      SELECT * INTO head FROM audit_head FOR UPDATE;
      FOR line IN
        SELECT (extract(epoch FROM e.at) * 1000)::bigint AS at, e.aggregate, e.version, e.type,
               encode(sha256(convert_to(e.data::text, 'UTF8')), 'hex') AS event, audit_entry(e.data) AS entry
          FROM added e ORDER BY e.aggregate, e.version
      LOOP
        INSERT INTO audit VALUES (head.seq + 1, line.at, line.aggregate, line.version, line.type, line.event,
          line.entry, head.hash,
          encode(sha256(convert_to(concat_ws(E'\n', head.hash, head.seq + 1, line.at, line.aggregate,
            line.version, line.type, line.event, line.entry), 'UTF8')), 'hex'))
        RETURNING seq, hash INTO head.seq, head.hash;
      END LOOP;
      UPDATE audit_head SET seq = head.seq, hash = head.hash;
      RETURN NULL;
    END
  $$`.execute(db);
  await sql`REVOKE ALL ON FUNCTION write_audit() FROM PUBLIC`.execute(db);
  await sql`CREATE TRIGGER events_added AFTER INSERT ON events REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION write_audit()`.execute(db);
  // What is still asked about an effect keeps nothing that has ended long ago.
  await createRetire(db, unlessTaskNeedsIt(), ['outcome']);
  // A token is looked up with every call that shows one.
  await sql`CREATE UNIQUE INDEX heads_tokens ON heads ((view->>'sha256')) WHERE status = 'token'`.execute(db);
};
