import { escapeIdentifier } from 'pg';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { closeDatabase } from '@holdpoint/infra/postgres/schemas';
import type { Database } from './databases.ts';
import type { PostgresServer } from './postgres-server.ts';

/** A state of the store that can be restored: later commits are then lost. */
export type Backup = { readonly putBack: () => Promise<void> };

/** A copy of all files of a server, which is down during the copy. */
export const backUpFiles = async (server: PostgresServer): Promise<Backup> => {
  await server.stop();
  await server.copyFiles();
  await server.start();
  return {
    putBack: async () => {
      await server.stop();
      await server.putFilesBack();
      await server.start();
    },
  };
};

/** A copy of one database, on a server that keeps running. */
export const backUpDatabase = async ({ name, admin }: Database): Promise<Backup> => {
  const [original, copy] = [escapeIdentifier(name), escapeIdentifier(`${name}_copy`)];
  const outside = { ...admin, database: 'postgres' };
  /** Runs statements while connections to the database are closed and refused. */
  const alone = (statements: readonly string[]): Promise<void> =>
    withAdmin(outside, async (client) => {
      await client.query(`ALTER DATABASE ${original} ALLOW_CONNECTIONS false`);
      await client.query('SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1', [
        name,
      ]);
      for (const statement of statements) await client.query(statement);
      await client.query(`ALTER DATABASE ${original} ALLOW_CONNECTIONS true`);
    });
  await alone([`CREATE DATABASE ${copy} TEMPLATE ${original}`]);
  return {
    putBack: async () => {
      // The right to connect is not copied with the rest.
      await withAdmin({ ...admin, database: `${name}_copy` }, (client) =>
        closeDatabase(client, `${name}_copy`),
      );
      await alone([`DROP DATABASE ${original}`, `ALTER DATABASE ${copy} RENAME TO ${original}`]);
    },
  };
};
