import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { DATABASE } from '@holdpoint/infra/credentials/layout';

/** The disk usage of a folder. */
export const bytesBelow = async (folder: string): Promise<number> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const sizes = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return bytesBelow(path);
      // A running server creates and deletes files.
      return entry.isFile()
        ? await stat(path).then(
            ({ blocks }) => blocks * 512,
            () => 0,
          )
        : 0;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
};

/** Bytes so far: of tables and indexes, of written WAL, and of the files of NATS. */
export type Stored = { readonly tables: number; readonly wal: number; readonly nats: number };

/** WAL files are allocated ahead and used again, so the size of the folder says nothing: the written bytes count. */
export const storedIn = (admin: Parameters<typeof withAdmin>[0]): Promise<Omit<Stored, 'nats'>> =>
  withAdmin({ ...admin, database: DATABASE }, async (client) => {
    const { rows } = await client.query<{ tables: string; wal: string }>(
      `SELECT pg_database_size(current_database()) AS tables,
              pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS wal`,
    );
    return { tables: Number(rows[0]?.tables), wal: Number(rows[0]?.wal) };
  });

export const bytesPerTask = (before: Stored, after: Stored, tasks: number): Stored => ({
  tables: Math.round((after.tables - before.tables) / tasks),
  wal: Math.round((after.wal - before.wal) / tasks),
  nats: Math.round((after.nats - before.nats) / tasks),
});
