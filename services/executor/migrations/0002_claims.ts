import { type Kysely, sql } from 'kysely';

/**
 * Executors find orders that wait for a slot by age. Claims find waiting remote orders by label, and started ones by the name of
 * the claim. An effect that starts at once is in none of these indexes.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE INDEX heads_waiting ON heads (created_at, id) WHERE status = 'prepared'`.execute(db);
  await sql`CREATE INDEX heads_offered ON heads ((view->>'uses'), created_at) WHERE status = 'offered'`.execute(
    db,
  );
  await sql`CREATE INDEX heads_claimed ON heads ((view->'remote'->>'claim')) WHERE status = 'claimed'`.execute(
    db,
  );
};
