import { escapeIdentifier, escapeLiteral } from 'pg';
import type { Client } from 'pg';
import { ownerRole, roleOf, services } from '../credentials/layout.ts';
import type { ServiceName } from '../credentials/layout.ts';
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

const serviceRole = async (
  client: Client,
  service: ServiceName,
  credentialsDir: string,
  connectionsMax: number,
): Promise<void> => {
  const role = escapeIdentifier(roleOf(service));
  const verifier = scramVerifier(await readPostgresPassword(credentialsDir, roleOf(service)));
  await createRole(client, roleOf(service));
  await client.query(
    `alter role ${role} login noinherit nocreatedb nocreaterole connection limit ${connectionsMax} password ${escapeLiteral(verifier)}`,
  );
  for (const [setting, value] of Object.entries(SETTINGS)) {
    await client.query(`alter role ${role} set ${setting} = ${escapeLiteral(value)}`);
  }
  // Names without a schema mean the service's own; there is nothing else that it could mean.
  await client.query(`alter role ${role} set search_path = ${escapeIdentifier(service)}`);
};

/** The owner of all objects, which cannot log in, and a login per service. */
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
  for (const service of services) await serviceRole(client, service, credentialsDir, connectionsMax);
};
