import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { escapeIdentifier } from 'pg';
import type { Database } from '../stack/databases.ts';

/** Runs a query as the owner of the database. */
export const askOwner = <Row extends Record<string, unknown>>(
  { admin }: Database,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> =>
  withAdmin(admin, async (client) => (await client.query<Row>(text, [...values])).rows);

/**
 * Moves the end of aggregates so many days into the past. The trigger that records the end is disabled
 * meanwhile.
 */
export const endDaysAgo = (
  { admin }: Database,
  service: ServiceName,
  ids: readonly string[],
  days: number,
): Promise<void> =>
  withAdmin(admin, async (client) => {
    await client.query('SET session_replication_role = replica');
    await client.query(
      `UPDATE ${escapeIdentifier(service)}.heads SET finished_at = now() - make_interval(days => $2) WHERE id = ANY ($1)`,
      [[...ids], days],
    );
  });
