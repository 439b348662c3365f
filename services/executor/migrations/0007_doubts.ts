import { type Kysely, sql } from 'kysely';

/**
 * Effects in doubt, for whoever is paged for them. The database keeps them from `heads`, in the transaction of each change; an
 * index of `heads` by status would make every change of every effect a change of that index.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  const { rows } = await sql<{ schema: string }>`SELECT current_schema() AS schema`.execute(db);
  const schema = sql.id(rows[0]?.schema ?? '');
  await sql`CREATE TABLE doubts (id text PRIMARY KEY, since timestamptz NOT NULL DEFAULT now())`.execute(db);
  await sql`CREATE FUNCTION keep_doubts() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ${schema}, pg_temp AS $$
    BEGIN
      IF TG_OP <> 'DELETE' AND NEW.status = 'in_doubt' THEN
        INSERT INTO doubts (id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
      ELSE
        DELETE FROM doubts WHERE id = OLD.id;
      END IF;
      RETURN NULL;
    END
  $$`.execute(db);
  await sql`REVOKE ALL ON FUNCTION keep_doubts() FROM PUBLIC`.execute(db);
  await sql`CREATE TRIGGER doubts_added AFTER INSERT ON heads FOR EACH ROW
    WHEN (NEW.status = 'in_doubt') EXECUTE FUNCTION keep_doubts()`.execute(db);
  await sql`CREATE TRIGGER doubts_ended AFTER UPDATE ON heads FOR EACH ROW
    WHEN ((NEW.status = 'in_doubt') <> (OLD.status = 'in_doubt')) EXECUTE FUNCTION keep_doubts()`.execute(db);
  await sql`CREATE TRIGGER doubts_removed AFTER DELETE ON heads FOR EACH ROW
    WHEN (OLD.status = 'in_doubt') EXECUTE FUNCTION keep_doubts()`.execute(db);
  await sql`INSERT INTO doubts (id) SELECT id FROM heads WHERE status = 'in_doubt'`.execute(db);
};
