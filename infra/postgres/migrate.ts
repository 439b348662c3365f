import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { Kysely, PostgresDialect } from 'kysely';
import { Migrator } from 'kysely/migration';
import type { Migration } from 'kysely/migration';
import { type Client, escapeIdentifier, Pool } from 'pg';
import { isMissing } from '../credentials/keep.ts';
import { ownerRole } from '../credentials/layout.ts';
import { messageOf, Problem } from '../local/problem.ts';
import type { AdminConnection } from './admin.ts';

/** Sources, or the compiled files of the package. */
const FILE = /^\d{4}_[a-z0-9_]+\.(ts|js)$/;
const nameOf = (file: string): string => file.replace(/\.(ts|js)$/, '');

const namesIn = async (folder: string): Promise<readonly string[]> => {
  try {
    return (await readdir(folder)).filter((name) => FILE.test(name)).toSorted();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
};

const load = async (folder: string): Promise<Record<string, Migration>> => {
  const migrations: Record<string, Migration> = {};
  for (const name of await namesIn(folder)) {
    const module: unknown = await import(pathToFileURL(join(folder, name)).href);
    if (!isMigration(module)) throw new Problem(`${join(folder, name)} exports no function called up`);
    migrations[nameOf(name)] = module;
  }
  return migrations;
};

const isMigration = (module: unknown): module is Migration =>
  typeof module === 'object' && module !== null && 'up' in module && typeof module.up === 'function';

/**
 * 0.1.0, which was never published, had another `0001_schema` without these tables. Since 0.2.0 a released migration never
 * changes, so its name suffices.
 */
const SINCE_0_2_0: Readonly<Partial<Record<ServiceName, string>>> = {
  orchestrator: 'ownership',
  approvals: 'ownership',
  recovery: 'ownership',
};

const hasTable = async (client: Client, service: ServiceName, table: string): Promise<boolean> => {
  const { rowCount } = await client.query('select where to_regclass($1) is not null', [
    `${escapeIdentifier(service)}.${table}`,
  ]);
  return rowCount === 1;
};

/** The migrations that a schema has; undefined if it has none yet. Throws `Problem` for a schema of 0.1.0. */
const migrationsOf = async (client: Client, service: ServiceName): Promise<readonly string[] | undefined> => {
  if (!(await hasTable(client, service, 'kysely_migration'))) return undefined;
  const { rows } = await client.query<{ name: string }>(
    `select name from ${escapeIdentifier(service)}.kysely_migration order by name`,
  );
  const names = rows.map(({ name }) => name);
  const table = SINCE_0_2_0[service];
  if (names.includes('0001_schema') && table !== undefined && !(await hasTable(client, service, table)))
    throw new Problem(`schema ${service} is of release 0.1.0: start with a new database`);
  return names;
};

/** Throws `Problem` unless every migration of a schema is one of this release. */
export const checkSchema = async (client: Client, service: ServiceName, folder: string): Promise<void> => {
  const known = (await namesIn(folder)).map(nameOf);
  const unknown = (await migrationsOf(client, service))?.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new Problem(
      `schema ${service} has the unknown migration ${unknown}: use its release, or a new database`,
    );
};

/** The migrations of this release that a schema does not have. */
export const missingMigrations = async (
  client: Client,
  service: ServiceName,
  folder: string,
): Promise<readonly string[]> => {
  const there = (await migrationsOf(client, service)) ?? [];
  return (await namesIn(folder)).map(nameOf).filter((name) => !there.includes(name));
};

/**
 * Brings one service's schema up to date. Everything that is created belongs to the owner role; unqualified names mean
 * the service's schema. The migrator's lock makes a second one wait, and then find nothing to do.
 */
export const migrate = async (
  admin: AdminConnection,
  service: ServiceName,
  folder: string,
): Promise<readonly string[]> => {
  const migrations = await load(folder);
  const pool = new Pool({
    ...admin,
    max: 1,
    application_name: `holdpoint migrate ${service}`,
    options: `-c role=${ownerRole} -c search_path=${service} -c statement_timeout=0 -c lock_timeout=0`,
  });
  pool.on('error', () => undefined);
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  try {
    const migrator = new Migrator({
      db,
      provider: { getMigrations: async () => migrations },
      migrationTableSchema: service,
    });
    const { error, results } = await migrator.migrateToLatest();
    if (error !== undefined) {
      const failed = results?.find(({ status }) => status === 'Error')?.migrationName;
      throw new Problem(`migration ${failed ?? ''} of ${service} failed: ${messageOf(error)}`, {
        cause: error,
      });
    }
    return (results ?? []).map(({ migrationName }) => migrationName);
  } finally {
    await db.destroy();
  }
};
