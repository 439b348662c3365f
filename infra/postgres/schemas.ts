import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { escapeIdentifier } from 'pg';
import type { Client } from 'pg';
import { coreRole, ownerRole, roleOf } from '../credentials/layout.ts';

const owner = escapeIdentifier(ownerRole);

/** Only the services' roles may connect. No role may create anything in `public`. */
export const closeDatabase = async (client: Client, database: string): Promise<void> => {
  const name = escapeIdentifier(database);
  await client.query(`revoke all on database ${name} from public`);
  await client.query('revoke all on schema public from public');
  for (const role of [...SERVICES.map(roleOf), coreRole])
    await client.query(`grant connect on database ${name} to ${escapeIdentifier(role)}`);
};

/**
 * A schema for one service, hidden from the others. Default privileges let the service read and insert into later tables.
 * The rights to update and delete follow afterwards, for all but append-only tables: no event is ever changeable.
 */
export const provisionSchema = async (client: Client, service: ServiceName): Promise<void> => {
  const schema = escapeIdentifier(service);
  const role = escapeIdentifier(roleOf(service));
  await client.query(`create schema if not exists ${schema} authorization ${owner}`);
  await client.query(`revoke all on schema ${schema} from public`);
  await client.query(`grant usage on schema ${schema} to ${role}`);
  const forFuture = `alter default privileges for role ${owner} in schema ${schema}`;
  await client.query(`${forFuture} grant select, insert on tables to ${role}`);
  await client.query(`${forFuture} grant usage, select on sequences to ${role}`);
  await client.query(`${forFuture} grant execute on functions to ${role}`);
  await client.query(`alter default privileges for role ${owner} revoke execute on functions from public`);
};

type Table = { readonly name: string; readonly partition: boolean };

const tablesOf = async (client: Client, schema: string): Promise<readonly Table[]> => {
  const { rows } = await client.query<Table>(
    `select c.relname as name, c.relispartition as partition from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relkind in ('r', 'p') order by 1`,
    [schema],
  );
  return rows;
};

const APPEND_ONLY: ReadonlySet<string> = new Set(['event_runs', 'shared_content', 'listed']);

/**
 * Events, the content that they share, and the rows of task lists are only inserted, never changed. The tables of the migrator and of the retention policy are read-only.
 */
const rightsOn = ({ name, partition }: Table): string | undefined => {
  if (partition) return undefined; // reached through its parent, with the parent's rights
  if (name.startsWith('kysely_migration') || name === 'retention') return 'select';
  // The database writes it.
  if (['audit', 'audit_head', 'doubts', 'failure_counts'].includes(name)) return 'select';
  if (name === 'inbox') return 'select, insert, delete';
  if (name === 'ownership') return 'select, update';
  return APPEND_ONLY.has(name) ? 'select, insert' : 'select, insert, update, delete';
};

/** After the migrations: exactly the rights that each table's role in the design asks for. */
export const grantTables = async (client: Client, service: ServiceName): Promise<void> => {
  const role = escapeIdentifier(roleOf(service));
  for (const table of await tablesOf(client, service)) {
    const name = `${escapeIdentifier(service)}.${escapeIdentifier(table.name)}`;
    const rights = rightsOn(table);
    await client.query('begin');
    await client.query(`revoke all on ${name} from public, ${role}`);
    if (rights !== undefined) await client.query(`grant ${rights} on ${name} to ${role}`);
    await client.query('commit');
  }
};

/** Retention of a service's ended aggregates. */
export const setKeep = async (client: Client, service: ServiceName, days: number): Promise<void> => {
  const retention = `${escapeIdentifier(service)}.retention`;
  await client.query(`update ${retention} set keep = make_interval(days => $1)`, [days]);
};
