import { readdirSync } from 'node:fs';
import type { AdminEndpoint } from '@holdpoint/contracts/catalog/endpoint';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { VERSION } from '@holdpoint/contracts/values/version';
import type { Pool } from 'pg';
import type { Endpoints } from '../bus/api.ts';
import type { Addressed } from '../engine/kinds.ts';
import { appliedMigrations, readCounts, readDatabase, readRetention } from '../store/admin.ts';

/** Names of the migrations in a folder, oldest first. */
export const migrationsIn = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => /^\d{4}_[a-z0-9_]+\.ts$/.test(name))
    .map((name) => name.replace(/\.ts$/, ''))
    .toSorted();

export type AdminOptions = {
  readonly service: ServiceName;
  readonly instance: string;
  readonly pool: Pool;
  /** The migrations of this release. */
  readonly migrations: readonly string[];
  /** Removes aggregates whose retention is over. Returns how many. */
  readonly purge: () => Promise<number>;
};

/** The endpoints that every service has: version, counts, retention and purge. */
export const adminEndpoints = <S extends ServiceName, To extends Addressed>({
  service,
  instance,
  pool,
  migrations: known,
  purge,
}: AdminOptions): Pick<Endpoints<S, To>, AdminEndpoint> => {
  const startedAt = Date.now();
  const admin: Pick<Endpoints<'recovery', To>, AdminEndpoint> = {
    info: {
      query: async () => {
        const [database, applied] = await Promise.all([readDatabase(pool), appliedMigrations(pool)]);
        return {
          service,
          version: VERSION,
          instance,
          node: process.versions.node,
          startedAt,
          clock: Date.now(),
          database,
          migrations: {
            applied: [...applied],
            pending: known.filter((name) => !applied.includes(name)),
            unknown: applied.filter((name) => !known.includes(name)),
          },
        };
      },
    },
    counts: { query: () => readCounts(pool) },
    retention: { query: ({ keepDays }) => readRetention(pool, keepDays) },
    purge: { query: async () => ({ purged: await purge() }) },
  };
  // The schemas are the same for all services; the compiler cannot see that through a type parameter.
  return admin as Pick<Endpoints<S, To>, AdminEndpoint>;
};
