import { join } from 'node:path';

/** The users of NATS. Their permissions are in ../nats/permissions.ts. */
export const natsUsers = [
  'orchestrator',
  'approvals',
  'executor',
  'recovery',
  'topology',
  'operator',
  'monitor',
  'worker',
] as const;
export type NatsUser = (typeof natsUsers)[number];

export const services = ['orchestrator', 'approvals', 'executor', 'recovery'] as const;
export type ServiceName = (typeof services)[number];

export const adminRole = 'hp_admin';
export const ownerRole = 'hp_owner';
export const roleOf = (service: ServiceName) => `hp_${service}` as const;
export const postgresRoles = [adminRole, ...services.map(roleOf)] as const;
export type PostgresRole = (typeof postgresRoles)[number];

/** Where each secret lies in a credentials folder; the same for local, compose and production use. */
export const layout = (dir: string) => ({
  dir,
  natsDir: join(dir, 'nats'),
  postgresDir: join(dir, 'postgres'),
  natsSeed: (user: NatsUser) => join(dir, 'nats', `${user}.seed`),
  natsPublicKey: (user: NatsUser) => join(dir, 'nats', `${user}.pub`),
  postgresPassword: (role: PostgresRole) => join(dir, 'postgres', `${role}.password`),
  grantKey: join(dir, 'grant.key.pem'),
  grantPublicKeys: join(dir, 'grant.pub.pem'),
  principals: join(dir, 'principals.json'),
  operatorToken: join(dir, 'operator.token'),
});
export type CredentialsLayout = ReturnType<typeof layout>;
