import { type Kysely, type RawBuilder, sql } from 'kysely';

/**
 * Fields for the filters of task lists. A trigger writes the row when a task is stored, whichever release
 * stores it. The phase changes often, so it stays in `heads`.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE listed (
    id text PRIMARY KEY,
    created_at bigint NOT NULL,
    flow text NOT NULL,
    workflow text NOT NULL,
    requester text NOT NULL,
    words tsvector NOT NULL
  )`.execute(db);
  await createKeeping(db);
  // These statements block no writer.
  await sql`${list(sql`heads h WHERE h.status <> 'board'`)} ON CONFLICT DO NOTHING`.execute(db);
  await sql`CREATE INDEX listed_flow ON listed (flow, created_at DESC, id DESC)`.execute(db);
  await sql`CREATE INDEX listed_requester ON listed (requester, created_at DESC, id DESC)`.execute(db);
  // A pending list saves a third of the work. Every search reads it, so it stays small.
  await sql`CREATE INDEX listed_words ON listed USING gin (words)
    WITH (fastupdate = on, gin_pending_list_limit = 512)`.execute(db);
  await sql`ANALYZE listed`.execute(db);
  await keepFromNowOn(db);
};

/** From here on writers wait: for the rows stored meanwhile, and for one index. */
const keepFromNowOn = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TRIGGER heads_listed AFTER INSERT ON heads FOR EACH ROW
    WHEN (NEW.status NOT IN ('board', 'tombstone')) EXECUTE FUNCTION keep_listed()`.execute(db);
  await sql`CREATE TRIGGER heads_unlisted AFTER DELETE ON heads FOR EACH ROW
    WHEN (OLD.status NOT IN ('board', 'tombstone')) EXECUTE FUNCTION keep_listed()`.execute(db);
  await list(
    sql`heads h WHERE h.status <> 'board' AND NOT EXISTS (SELECT FROM listed l WHERE l.id = h.id)`,
  ).execute(db);
  await sql`DELETE FROM listed l WHERE NOT EXISTS (SELECT FROM heads h WHERE h.id = l.id)`.execute(db);
  // This index also finds the tasks that wait for a circuit.
  await sql`CREATE INDEX heads_phase ON heads (status, created_at DESC, id DESC)`.execute(db);
  await sql`DROP INDEX heads_held`.execute(db);
};

/** The first event of a task has its goal and requester. Long words are cut. */
const list = (heads: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  INSERT INTO listed (id, created_at, flow, workflow, requester, words)
  SELECT t.id, t.created_at, split_part(t.workflow, '@', 1), t.workflow, t.requester,
         words_of(concat_ws(' ', left(t.goal, 4000), t.id, t.workflow))
    FROM (SELECT h.id, h.created_at, coalesce(h.view->>'workflow', '') AS workflow,
                 coalesce(e.data->>'requestedBy', '') AS requester,
                 coalesce(e.data->>'goal', h.view->>'goal', '') AS goal
            FROM (SELECT * FROM ${heads}) h
            LEFT JOIN events e ON e.aggregate = h.id AND e.version = 1) t`;

const createKeeping = async (db: Kysely<unknown>): Promise<void> => {
  const { rows } = await sql<{ schema: string }>`SELECT current_schema() AS schema`.execute(db);
  const schema = sql.id(rows[0]?.schema ?? '');
  await sql`CREATE FUNCTION words_of(text) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
    SELECT array_to_tsvector(ARRAY(
      SELECT left(word, 200)
        FROM unnest(regexp_split_to_array(lower($1), '[\\u0001-/:-@\\u005b-\\u0060{-\\u007f]+')) AS word
       WHERE word <> ''))
  $$`.execute(db);
  await sql`CREATE FUNCTION keep_listed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ${schema}, pg_temp AS $$
    BEGIN
      IF TG_OP = 'DELETE' THEN
        DELETE FROM listed WHERE id = OLD.id;
      ELSE
        ${list(sql`heads h WHERE h.id = NEW.id`)};
      END IF;
      RETURN NULL;
    END
  $$`.execute(db);
  await sql`REVOKE ALL ON FUNCTION keep_listed() FROM PUBLIC`.execute(db);
};
