import { roleOf } from '@holdpoint/infra/credentials/layout';
import { readPostgresPassword } from '@holdpoint/infra/credentials/read';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { createMemoryStore } from '@holdpoint/runtime/memory/store';
import type { Store } from '@holdpoint/runtime/engine/ports';
import { createPool } from '@holdpoint/runtime/store/pool';
import { ownStatements } from '@holdpoint/runtime/store/statements';
import { createPostgresStore } from '@holdpoint/runtime/store/store';
import { setImmediate as turn } from 'node:timers/promises';
import type { Pool } from 'pg';
import { cloneDatabase, type Database } from './databases.ts';
import { currentRun } from './run.ts';

/** A store of record, and the outside view that its contract tests need. */
export type StoreBacking = {
  readonly store: Store;
  /** The same store, from another replica. */
  readonly replica: Store;
  /** The store's clock. */
  readonly now: () => Promise<number>;
  /** Whether a transaction waits for a lock. `settled` tells whether the call has ended. */
  readonly waits: (settled: () => boolean) => Promise<boolean>;
  /** The summary text of an aggregate. */
  readonly summary: (id: string) => Promise<unknown>;
  /** The words of an aggregate in the table of lists, in order. */
  readonly listed: (id: string) => Promise<unknown>;
  readonly close: () => Promise<void>;
};

const textOf = (view: unknown): unknown =>
  typeof view === 'object' && view !== null && 'text' in view ? view.text : undefined;

export const memoryBacking = (): Promise<StoreBacking> => {
  const store = createMemoryStore(() => Date.now());
  return Promise.resolve({
    store,
    replica: store,
    now: () => Promise.resolve(Date.now()),
    waits: async (settled) => {
      await turn();
      return !settled();
    },
    summary: (id) => Promise.resolve(textOf(store.tables.heads.get(id)?.view)),
    listed: (id) =>
      Promise.resolve((store.tables.listed.get(id) ?? []).map((row) => String(row['word'])).toSorted()),
    close: () => Promise.resolve(),
  });
};

/** The runtime's tables of this service, which has no others. */
const SERVICE = 'recovery';

type Address = { readonly host: string; readonly port: number };

/**
 * Connections like those of the service; `at` may be a proxy, which is on another host than a server in a
 * container.
 */
export const servicePool = async (
  database: Database,
  { host, port }: Address = database.admin,
  isKeyed = false,
): Promise<Pool> => {
  const role = roleOf(SERVICE);
  const settings = {
    url: `postgres://${role}@${host}:${String(port)}/${database.name}`,
    password: await readPostgresPassword(currentRun().credentialsDir, role),
    schema: SERVICE,
    name: 'holdpoint-test',
    max: 8,
    isKeyed,
  };
  return createPool(settings, silentLogger());
};

/** A table of lists that no service has. */
const LISTED = { name: 'listed_notes', columns: { word: 'text' } } as const;

export const postgresStore = (pool: Pool): Store =>
  createPostgresStore(pool, { statements: ownStatements(LISTED) });

/** A database of this test file. */
export const storeDatabase = (): Promise<Database> => cloneDatabase(currentRun().admin);

export const postgresBacking = async (): Promise<StoreBacking> => {
  const database = await storeDatabase();
  const pools = await Promise.all([servicePool(database), servicePool(database)]);
  const ask = async (text: string, values: readonly unknown[] = []): Promise<unknown> =>
    withAdmin(
      database.admin,
      async (client) => (await client.query<{ answer: unknown }>(text, [...values])).rows[0]?.answer,
    );
  await ask(`CREATE TABLE ${SERVICE}.listed_notes (id text, word text, PRIMARY KEY (id, word))`);
  await ask(`GRANT SELECT, INSERT, DELETE ON ${SERVICE}.listed_notes TO ${roleOf(SERVICE)}`);
  return {
    store: postgresStore(pools[0]),
    replica: postgresStore(pools[1]),
    now: async () => Number(await ask('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS answer')),
    waits: async () => {
      const waiting = `SELECT count(*)::int AS answer FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'`;
      return (await ask(waiting, [database.name])) !== 0;
    },
    summary: async (id) =>
      textOf(await ask(`SELECT view AS answer FROM ${SERVICE}.heads WHERE id = $1`, [id])),
    listed: (id) =>
      ask(
        `SELECT coalesce(json_agg(word ORDER BY word), '[]') AS answer FROM ${SERVICE}.listed_notes WHERE id = $1`,
        [id],
      ),
    close: async () => {
      await Promise.all(pools.map((pool) => pool.end()));
      await database.drop();
    },
  };
};
