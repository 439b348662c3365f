import { CORE_SERVICES, SERVICES } from '@holdpoint/contracts/bus/subjects';
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { Client } from 'pg';
import { coreRole, ownerRole, roleOf } from '../credentials/layout.ts';
import type { PostgresRole } from '../credentials/layout.ts';
import { readPostgresPassword } from '../credentials/read.ts';
import { scramVerifier } from './scram.ts';

/** Limits of a service's sessions, so that a service gone wrong cannot hold up the others. Migrations run without them. */
const SETTINGS: Readonly<Record<string, string>> = {
  statement_timeout: '5s',
  lock_timeout: '2s',
  idle_in_transaction_session_timeout: '10s',
};
/** Of two replicas of a service, and some room. */
export const ROLE_CONNECTIONS_MAX = 20;

const createRole = async (client: Client, name: string): Promise<void> => {
  const { rowCount } = await client.query('select from pg_roles where rolname = $1', [name]);
  if (rowCount === 0) await client.query(`create role ${escapeIdentifier(name)} nologin`);
};

const loginRole = async (
  client: Client,
  name: PostgresRole,
  schema: string,
  credentialsDir: string,
  connectionsMax: number,
): Promise<void> => {
  const role = escapeIdentifier(name);
  const verifier = scramVerifier(await readPostgresPassword(credentialsDir, name));
  await createRole(client, name);
  await client.query(
    `alter role ${role} login noinherit nocreatedb nocreaterole connection limit ${connectionsMax} password ${escapeLiteral(verifier)}`,
  );
  for (const [setting, value] of Object.entries(SETTINGS)) {
    await client.query(`alter role ${role} set ${setting} = ${escapeLiteral(value)}`);
  }
  // Names without a schema mean the service's own; there is nothing else that it could mean.
  await client.query(`alter role ${role} set search_path = ${escapeIdentifier(schema)}`);
};

/** The owner of all objects, which cannot log in, a login per service, and one with the rights of the services of the core. */
export const provisionRoles = async (
  client: Client,
  credentialsDir: string,
  connectionsMax: number = ROLE_CONNECTIONS_MAX,
): Promise<void> => {
  await createRole(client, ownerRole);
  const owner = escapeIdentifier(ownerRole);
  await client.query(`alter role ${owner} nologin noinherit nocreatedb nocreaterole`);
  // Needed where the administrator is no superuser, as with managed PostgreSQL.
  await client.query(`grant ${owner} to current_user`);
  for (const service of SERVICES)
    await loginRole(client, roleOf(service), service, credentialsDir, connectionsMax);
  await loginRole(client, coreRole, 'pg_catalog', credentialsDir, connectionsMax);
  for (const service of CORE_SERVICES)
    await client.query(
      `grant ${escapeIdentifier(roleOf(service))} to ${escapeIdentifier(coreRole)} with inherit true, set false`,
    );
};
