import { join } from 'node:path';
import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';

/** The users of NATS. Their permissions are in ../nats/permissions.ts. */
export const natsUsers = [...SERVICES, 'topology', 'operator', 'monitor', 'worker'] as const;
export type NatsUser = (typeof natsUsers)[number];

/** The services with a key from this folder. Executors make keys of their own. */
export const sealingServices = ['approvals', 'orchestrator', 'recovery'] as const;
export type SealingService = (typeof sealingServices)[number];

/** The database of the services, unless a setting names another. */
export const DATABASE = 'holdpoint';

export const adminRole = 'hp_admin';
export const ownerRole = 'hp_owner';
export const roleOf = (service: ServiceName) => `hp_${service}` as const;
/** Has the rights of the services of the core, for a process that runs all of them. */
export const coreRole = 'hp_core';
export const postgresRoles = [adminRole, ...SERVICES.map(roleOf), coreRole] as const;
export type PostgresRole = (typeof postgresRoles)[number];

/** Where each secret lies in a credentials folder; the same for local, compose and production use. */
export const layout = (dir: string) => ({
  dir,
  natsDir: join(dir, 'nats'),
  postgresDir: join(dir, 'postgres'),
  natsSeed: (user: NatsUser) => join(dir, 'nats', `${user}.seed`),
  /** Of a NATS in operator mode, made by `holdpoint nats export`. Used in place of the seed. */
  natsCreds: (user: NatsUser) => join(dir, 'nats', `${user}.creds`),
  natsAccountsDir: join(dir, 'nats', 'accounts'),
  natsAccountSeed: (name: string) => join(dir, 'nats', 'accounts', `${name}.seed`),
  natsPublicKey: (user: NatsUser) => join(dir, 'nats', `${user}.pub`),
  postgresPassword: (role: PostgresRole) => join(dir, 'postgres', `${role}.password`),
  grantKey: join(dir, 'grant.key.pem'),
  grantPublicKeys: join(dir, 'grant.pub.pem'),
  /** The keys with which a service seals its messages. Approvals uses its grant key. */
  sealKey: (service: SealingService) =>
    join(dir, service === 'approvals' ? 'grant.key.pem' : `${service}.key.pem`),
  /** Public keys of the services. Every service reads this file. */
  trust: join(dir, 'trust.json'),
  /** Proves to approvals that a new executor belongs to the deployment. */
  joinSecret: join(dir, 'join.secret'),
  principals: join(dir, 'principals.json'),
  operatorToken: join(dir, 'operator.token'),
  /** The second person of a new installation. */
  approverToken: join(dir, 'approver.token'),
});
export type CredentialsLayout = ReturnType<typeof layout>;
