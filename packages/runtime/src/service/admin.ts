import { readdirSync } from 'node:fs';
import type { CareEndpoint } from '@holdpoint/contracts/catalog/endpoint';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { VERSION } from '@holdpoint/contracts/values/version';
import type { Pool } from 'pg';
import type { Endpoints } from '../bus/api.ts';
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
  /** Those that this release brings. */
  readonly migrations: readonly string[];
  /** Removes what has ended longer ago than it is kept; returns how much. */
  readonly retire: () => Promise<number>;
};

/** Whatever a service is, it says so, and lets itself be looked after, in the same way as the others. */
export const adminEndpoints = <S extends ServiceName, Message>({
  service,
  instance,
  pool,
  migrations: known,
  retire,
}: AdminOptions): Pick<Endpoints<S, Message>, CareEndpoint> => {
  const startedAt = Date.now();
  const care: Pick<Endpoints<'recovery', Message>, CareEndpoint> = {
    about: {
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
    retire: { query: async () => ({ retired: await retire() }) },
  };
  // The same for all services, which the compiler cannot see through the name of one.
  return care as Pick<Endpoints<S, Message>, CareEndpoint>;
};
