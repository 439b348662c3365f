import { type Kysely, sql } from 'kysely';

/** A circuit that is closed has ended like the failures of a task have: it goes in time, and is made anew when it opens. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`DROP TRIGGER heads_inserted ON heads`.execute(db);
  await sql`DROP TRIGGER heads_updated ON heads`.execute(db);
  await sql`CREATE TRIGGER heads_inserted BEFORE INSERT ON heads FOR EACH ROW
    WHEN (NEW.status IN ('assessed', 'circuit_closed') OR NEW.finished_at IS NOT NULL)
    EXECUTE FUNCTION note_end('assessed', 'circuit_closed')`.execute(db);
  await sql`CREATE TRIGGER heads_updated BEFORE UPDATE ON heads FOR EACH ROW
    WHEN (NEW.status IN ('assessed', 'circuit_closed') OR NEW.finished_at IS NOT NULL OR OLD.finished_at IS NOT NULL)
    EXECUTE FUNCTION note_end('assessed', 'circuit_closed')`.execute(db);
};
