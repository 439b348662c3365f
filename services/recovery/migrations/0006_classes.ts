import { type Kysely, type RawBuilder, sql } from 'kysely';

/** As many days as are counted at once at the most: `FAILURE_BUCKETS_MAX` of the contracts. */
const KEPT_DAYS = 400;

/**
 * Failures by hour and class, so that a look at a month costs the same however many there were. The database counts them in
 * the transaction that stores them, whichever release does. What is counted stays when its task is removed: it names nobody.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE failure_counts (
    hour bigint NOT NULL,
    class text NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (hour, class)
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`.execute(
    db,
  );
  await createCounting(db);
  // All but the latest while others go on writing; these wait for the trigger only until the rest has been counted.
  const cut = sql`now() - interval '15 minutes'`;
  await count(sql`(SELECT * FROM events WHERE at < ${cut} AND at >= ${KEPT}) e`).execute(db);
  await sql`CREATE TRIGGER events_counted AFTER INSERT ON events REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_failures()`.execute(db);
  await count(sql`(SELECT * FROM events WHERE at >= ${cut}) e`).execute(db);
};

const KEPT = sql`now() - interval ${sql.lit(`${String(KEPT_DAYS)} days`)}`;
const MS = sql`(extract(epoch FROM at) * 1000)::bigint`;
const CLASS = sql`(data->'verdict'->'class')::text`;

/**
 * Adds what has failed. What is said anew of an attempt, because what was said first could not be done, has the time of the
 * first: it is no other failure. In one order everywhere, so that no two transactions wait for each other in a ring.
 */
const count = (events: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  INSERT INTO failure_counts AS c (hour, class, count)
  SELECT ${MS} / 3600000 * 3600000, btrim(${CLASS}, '"'), count(*) FROM ${events}
   WHERE type = 'assessed' AND ${CLASS} IS NOT NULL AND coalesce((data->'at')::text::bigint = ${MS}, true)
   GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (hour, class) DO UPDATE SET count = c.count + excluded.count`;

const createCounting = async (db: Kysely<unknown>): Promise<void> => {
  const { rows } = await sql<{ schema: string }>`SELECT current_schema() AS schema`.execute(db);
  const schema = sql.id(rows[0]?.schema ?? '');
  await sql`CREATE FUNCTION count_failures() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ${schema}, pg_temp AS $$
    BEGIN
      ${count(sql`added`)};
      IF FOUND THEN
        DELETE FROM failure_counts WHERE (hour, class) IN (
          SELECT hour, class FROM failure_counts
           WHERE hour < (extract(epoch FROM ${KEPT}) * 1000)::bigint
           ORDER BY hour LIMIT 100 FOR UPDATE SKIP LOCKED);
      END IF;
      RETURN NULL;
    END
  $$`.execute(db);
  await sql`REVOKE ALL ON FUNCTION count_failures() FROM PUBLIC`.execute(db);
};
