import { join } from 'node:path';
import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { escapeIdentifier } from 'pg';
import type { Client } from 'pg';
import { DATABASE, ownerRole } from '../credentials/layout.ts';
import { recordInTurn } from '../local/record.ts';
import { withAdmin } from './admin.ts';
import type { AdminConnection } from './admin.ts';
import { checkSchema, migrate } from './migrate.ts';
import { provisionRoles } from './roles.ts';
import { closeDatabase, grantTables, provisionSchema, setKeep } from './schemas.ts';

export type ProvisionOptions = {
  /** An administrator who may create roles and databases, connected to any database of the server. */
  readonly admin: AdminConnection;
  readonly credentialsDir: string;
  /** The folder that holds `services/<name>/migrations`. */
  readonly root: string;
  readonly database?: string;
  /** How long to wait for a server that is not up yet. */
  readonly waitMs?: number;
  /** Retention of ended aggregates, in days; unchanged when left out. */
  readonly keepDays?: number | undefined;
  /** Maximum connections of each service's role. */
  readonly roleConnectionsMax?: number;
};

export type Provisioned = { readonly applied: Readonly<Record<ServiceName, readonly string[]>> };

// Of two that provision at once the second waits, and then finds everything done. The number stands for nothing else.
const LOCK = 7_301_468_825;

const createDatabase = async (client: Client, database: string): Promise<void> => {
  const { rowCount } = await client.query('select from pg_database where datname = $1', [database]);
  if (rowCount !== 0) return;
  const [name, owner] = [escapeIdentifier(database), escapeIdentifier(ownerRole)];
  await client.query(`create database ${name} owner ${owner} encoding 'UTF8' template template0`);
};

/** Roles, database, schemas, migrations and rights: everything that the services need of PostgreSQL. May be run again. */
export const provision = async (options: ProvisionOptions): Promise<Provisioned> => {
  const {
    admin,
    credentialsDir,
    root,
    database = DATABASE,
    waitMs = 0,
    keepDays,
    roleConnectionsMax,
  } = options;
  const inside = { ...admin, database };
  return withAdmin(
    admin,
    async (client) => {
      await client.query('set statement_timeout = 0');
      await client.query('select pg_advisory_lock($1)', [LOCK]);
      await provisionRoles(client, credentialsDir, roleConnectionsMax);
      await createDatabase(client, database);
      const applied = await withAdmin(inside, async (db) => {
        const folderOf = (service: ServiceName): string => join(root, 'services', service, 'migrations');
        // All schemas before the first change: no database is migrated by half.
        for (const service of SERVICES) await checkSchema(db, service, folderOf(service));
        await closeDatabase(db, database);
        return recordInTurn(SERVICES, async (service) => {
          await provisionSchema(db, service);
          const names = await migrate(inside, service, folderOf(service));
          await grantTables(db, service);
          if (keepDays !== undefined) await setKeep(db, service, keepDays);
          return names;
        });
      });
      return { applied };
    },
    waitMs,
  );
};
