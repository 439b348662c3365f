import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { escapeIdentifier } from 'pg';
import type { Database } from '../stack/databases.ts';

/** Somebody who owns the database asks it something. */
export const askOwner = <Row extends Record<string, unknown>>(
  { admin }: Database,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> =>
  withAdmin(admin, async (client) => (await client.query<Row>(text, [...values])).rows);

/** Lets time pass for aggregates: as if they had ended so many days ago. Their end is noted by a trigger, which looks away. */
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
