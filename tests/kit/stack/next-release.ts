import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { root } from '@holdpoint/infra/local/folders';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { provision, type Provisioned } from '@holdpoint/infra/postgres/provision';
import type { System } from './system.ts';

export const NEXT_MIGRATION = '9999_next_release';

/** An expanding schema change: a column, an index and a table, on tables in use. */
export const MIGRATION = `
export const up = async (db) => {
  await db.schema.alterTable('event_runs').addColumn('next_release', 'text').execute();
  await db.schema.createIndex('events_next_release').on('event_runs').column('next_release').execute();
  await db.schema.createTable('next_release').addColumn('id', 'text', (column) => column.primaryKey()).execute();
};
`;

/** A repository with one additional migration per service and no other change. */
const nextRoot = async (folder: string): Promise<string> => {
  const next = join(folder, 'next-release');
  for (const service of SERVICES) {
    const from = join(root, 'services', service, 'migrations');
    const to = join(next, 'services', service, 'migrations');
    await mkdir(to, { recursive: true });
    // Imports resolve from the place of the symbolic link.
    await symlink(join(root, 'services', service, 'node_modules'), join(to, '..', 'node_modules'));
    for (const name of await readdir(from)) await symlink(join(from, name), join(to, name));
    await writeFile(join(to, `${NEXT_MIGRATION}.ts`), MIGRATION);
  }
  return next;
};

const migrateFrom = ({ run, database }: System, from: string): Promise<Provisioned> =>
  provision({
    admin: run.admin,
    credentialsDir: run.credentialsDir,
    root: from,
    database: database.name,
    // All systems of a run have the same roles.
    roleConnectionsMax: -1,
  });

/** Runs the migrations of this release, as the job before a deployment does. */
export const migrateNow = (system: System): Promise<Provisioned> => migrateFrom(system, root);

/** Runs the migrations of the next release. */
export const migrateToNext = async (system: System): Promise<Provisioned> =>
  migrateFrom(system, await nextRoot(system.folder));

/** The migrations that every service has applied. */
export const APPLIED_BY_NEXT = Object.fromEntries(SERVICES.map((service) => [service, [NEXT_MIGRATION]]));

/** Removes everything that migrations created. */
export const dropSchemas = ({ database }: System): Promise<void> =>
  withAdmin(database.admin, async (client) => {
    for (const service of SERVICES) await client.query(`drop schema ${service} cascade`);
  });
