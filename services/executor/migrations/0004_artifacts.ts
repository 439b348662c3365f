import { type Kysely, sql } from 'kysely';

/** Which artifacts starts have made. What they hold is in the object store; a row goes with the effect that it belongs to. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE artifacts (
    id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    effect text NOT NULL,
    epoch int NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    bytes bigint NOT NULL,
    media_type text NOT NULL,
    task text NOT NULL,
    node text NOT NULL,
    attempt int NOT NULL,
    step text NOT NULL,
    created_at timestamptz NOT NULL,
    stored_at timestamptz,
    PRIMARY KEY (effect, epoch, name)
  )`.execute(db);
  await sql`CREATE INDEX artifacts_of_task ON artifacts (task, id)`.execute(db);
  await sql`CREATE INDEX artifacts_of_content ON artifacts (sha256)`.execute(db);
  await sql`CREATE FUNCTION forget_artifacts() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
      DELETE FROM artifacts a USING gone WHERE a.effect = gone.id;
      RETURN NULL;
    END
  $$`.execute(db);
  await sql`CREATE TRIGGER heads_removed AFTER DELETE ON heads REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION forget_artifacts()`.execute(db);
};
