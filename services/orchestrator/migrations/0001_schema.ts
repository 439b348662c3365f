import {
  createBusWatermarkTable,
  createObjectTables,
  createOwnershipTable,
  createRuntimeTables,
  currentSchema,
  tokenIn,
} from '@holdpoint/runtime/store/tables';
import { type Kysely, sql } from 'kysely';

/** A task is purged last, so that nothing remains under an id that may be used again. */
const unless = sql`(
  EXISTS (SELECT FROM recovery.heads r WHERE r.id = h.id)
  OR EXISTS (
    SELECT FROM events e
     WHERE e.aggregate = h.id AND e.type IN ('approval_requested', 'step_ordered', 'input_requested')
       AND (EXISTS (SELECT FROM approvals.heads a WHERE a.id = ${tokenIn('approval')})
         OR EXISTS (SELECT FROM executor.heads x WHERE x.id = ${tokenIn('effectId')}))))`;

export const up = async (db: Kysely<unknown>): Promise<void> => {
  await createRuntimeTables(db, { final: ['completed', 'failed', 'cancelled', 'tombstone'], unless });
  await createOwnershipTable(db);
  await sql`CREATE INDEX heads_latest ON heads (created_at DESC, id DESC)`.execute(db);
  // Also finds the tasks that wait for a circuit.
  await sql`CREATE INDEX heads_phase ON heads (status, created_at DESC, id DESC)`.execute(db);
  await createBusWatermarkTable(db);
  await createObjectTables(db);
  await createPrograms(db);
  await createLists(db);
};

/** Registered program versions. Rows are never deleted. */
const createPrograms = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE TABLE programs (
    hash text PRIMARY KEY,
    id text NOT NULL,
    version text NOT NULL,
    definition jsonb NOT NULL,
    place bigint GENERATED ALWAYS AS IDENTITY,
    registered_at timestamptz NOT NULL DEFAULT now()
  )`.execute(db);
  await sql`CREATE UNIQUE INDEX programs_place ON programs (place)`.execute(db);
};

/**
 * Fields for the filters of task lists. The service writes the row with the task, and the row ends with it. The phase changes
 * often, so it stays in `heads`.
 */
const createLists = async (db: Kysely<unknown>): Promise<void> => {
  // The time of a row is that of its head: both are written in one transaction.
  await sql`CREATE TABLE listed (
    id text PRIMARY KEY,
    created_at bigint NOT NULL DEFAULT (extract(epoch FROM now()) * 1000)::bigint,
    flow text NOT NULL,
    workflow text NOT NULL,
    requester text NOT NULL,
    words tsvector NOT NULL
  )`.execute(db);
  await sql`CREATE INDEX listed_flow ON listed (flow, created_at DESC, id DESC)`.execute(db);
  await sql`CREATE INDEX listed_requester ON listed (requester, created_at DESC, id DESC)`.execute(db);
  // A pending list saves a third of the work. Every search reads it, so it stays small.
  await sql`CREATE INDEX listed_words ON listed USING gin (words)
    WITH (fastupdate = on, gin_pending_list_limit = 512)`.execute(db);
  await sql`CREATE FUNCTION unlist() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ${await currentSchema(db)}, pg_temp AS $$
    BEGIN
      DELETE FROM listed WHERE id = OLD.id;
      RETURN NULL;
    END
  $$`.execute(db);
  await sql`REVOKE ALL ON FUNCTION unlist() FROM PUBLIC`.execute(db);
  await sql`CREATE TRIGGER heads_unlisted AFTER DELETE ON heads FOR EACH ROW
    WHEN (OLD.kind <> 'registry' AND OLD.status <> 'tombstone') EXECUTE FUNCTION unlist()`.execute(db);
};
