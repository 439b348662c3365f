import { readdirSync } from 'node:fs';
import { ENDPOINT_SCOPES } from '@holdpoint/contracts/catalog/scopes';
import type { AdminEndpoint, DeadLetterEndpoint } from '@holdpoint/contracts/catalog/endpoint';
import { deadLetterPlace } from '@holdpoint/contracts/bus/dead-letter';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { VERSION } from '@holdpoint/contracts/values/version';
import type { Pool } from 'pg';
import type { Endpoints } from '../bus/api.ts';
import { type DeadLetterResolver, unknownDeadLetter } from '../bus/dead-letter-actions.ts';
import type { Addressed } from '../engine/kinds.ts';
import { readOwner } from '../ownership/lease-store.ts';
import { appliedMigrations, readCounts, readDatabase, readRetention } from '../store/admin.ts';
import { listDeadLetters, readDeadLetter } from '../store/dead-letters.ts';
import { requirePerson, type VerifyIdentity } from './identity.ts';

/** Names of the migrations in a folder, oldest first. */
export const migrationsIn = (folder: string): readonly string[] =>
  readdirSync(folder)
    .map((name) => /^(\d{4}_[a-z0-9_]+)\.(?:ts|js)$/.exec(name)?.[1])
    .filter((name) => name !== undefined)
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
        const [database, applied, owner] = await Promise.all([
          readDatabase(pool),
          appliedMigrations(pool),
          service === 'executor' ? undefined : readOwner(pool),
        ]);
        return {
          service,
          version: VERSION,
          instance,
          node: process.versions.node,
          startedAt,
          clock: Date.now(),
          database,
          ...(owner && { owner }),
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

/** The same scope for each service. */
const RESOLVE = ENDPOINT_SCOPES.executor.dead_letter_resolve;

/** The dead letters of a service, for operators. */
export const deadLetterEndpoints = <S extends ServiceName, To extends Addressed>(
  service: ServiceName,
  pool: Pool,
  resolve: DeadLetterResolver,
  verify: VerifyIdentity,
): Pick<Endpoints<S, To>, DeadLetterEndpoint> => {
  const placeOf = (id: string): number | undefined => {
    const named = deadLetterPlace(id);
    return named?.service === service ? named.place : undefined;
  };
  const endpoints: Pick<Endpoints<'recovery', To>, DeadLetterEndpoint> = {
    dead_letter_list: {
      query: ({ limit, before }) =>
        listDeadLetters(pool, service, limit, before === undefined ? undefined : (placeOf(before) ?? 0)),
    },
    dead_letter_get: {
      query: async ({ id }) => {
        const place = placeOf(id);
        const found = place === undefined ? undefined : await readDeadLetter(pool, service, place);
        if (found === undefined) throw unknownDeadLetter(id);
        return found;
      },
    },
    dead_letter_resolve: {
      decides: true,
      query: (request, { header }) => {
        const { sub: by } = requirePerson(verify, header, RESOLVE, Date.now());
        return resolve({ ...request, by });
      },
    },
  };
  // The schemas are the same for all services; the compiler cannot see that through a type parameter.
  return endpoints as Pick<Endpoints<S, To>, DeadLetterEndpoint>;
};
