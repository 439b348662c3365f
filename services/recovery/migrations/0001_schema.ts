import {
  createOwnershipTable,
  createRuntimeTables,
  currentSchema,
  tokenIn,
  unlessTaskNeedsIt,
} from '@holdpoint/runtime/store/tables';
import { type Kysely, sql } from 'kysely';

/** Maximum days of one count: `FAILURE_BUCKETS_MAX` of the contracts. */
const KEPT_DAYS = 400;

export const up = async (db: Kysely<unknown>): Promise<void> => {
  // The attempts of a task have the id of the task, and are purged with it. A closed circuit is purged in time.
  await createRuntimeTables(db, {
    final: ['assessed', 'circuit_closed'],
    unless: unlessTaskNeedsIt(sql`h.id`),
  });
  await createOwnershipTable(db);
  await sql`CREATE INDEX heads_stuck ON heads (id) WHERE status = 'stuck'`.execute(db);
  await createFailureCounts(db);
};

const KEPT = sql`now() - interval ${sql.lit(`${String(KEPT_DAYS)} days`)}`;
const MS = sql`(extract(epoch FROM at) * 1000)::bigint`;
const CLASS = sql`(e.data->'verdict'->'class')::text`;

/**
 * Failures by hour and class, so that the count of a month costs the same for any number of failures. Counts stay when their
 * task is purged: they name nobody. A new assessment of the same attempt keeps its time and is not counted again. Rows are
 * locked in one order, so that no two transactions wait for each other.
 */
const createFailureCounts = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE failure_counts (
    hour bigint NOT NULL,
    class text NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (hour, class)
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`.execute(
    db,
  );
  await sql`CREATE FUNCTION count_failures() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ${await currentSchema(db)}, pg_temp AS $$
    BEGIN
      INSERT INTO failure_counts AS c (hour, class, count)
      SELECT ${MS} / 3600000 * 3600000, btrim(${CLASS}, '"'), count(*)
        FROM added CROSS JOIN LATERAL json_array_elements(events) AS e(data)
       WHERE ${tokenIn('type')} = 'assessed' AND ${CLASS} IS NOT NULL AND coalesce((e.data->'at')::text::bigint = ${MS}, true)
       GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (hour, class) DO UPDATE SET count = c.count + excluded.count;
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
  await sql`CREATE TRIGGER events_counted AFTER INSERT ON event_runs REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_failures()`.execute(db);
};
