import { type Kysely, sql } from 'kysely';

/** Claims find waiting remote orders by label, and started ones by the name of the claim. Other effects are in neither index. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE INDEX heads_offered ON heads ((view->>'uses'), created_at) WHERE status = 'offered'`.execute(
    db,
  );
  await sql`CREATE INDEX heads_claimed ON heads ((view->'remote'->>'claim')) WHERE status = 'claimed'`.execute(
    db,
  );
};
