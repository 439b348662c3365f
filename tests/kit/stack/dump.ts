import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ownerRole } from '@holdpoint/infra/credentials/layout';
import { root } from '@holdpoint/infra/local/folders';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { provision } from '@holdpoint/infra/postgres/provision';
import { escapeIdentifier } from 'pg';
import { askOwner } from '../tasks/aged.ts';
import type { Database } from './databases.ts';
import type { Backup } from './restore.ts';

const run = promisify(execFile);

const majorOf = (text: string): number => Number(/(\d+)(?:\.|\s|$)/.exec(text)?.[1]);

/** The programs write dumps that older servers cannot read, and they cannot read newer servers. */
export const canDump = async (database: Database): Promise<boolean> => {
  try {
    const versions = await Promise.all(['pg_dump', 'pg_restore'].map((name) => run(name, ['--version'])));
    const [row] = await askOwner<{ version: string }>(
      database,
      `SELECT current_setting('server_version') AS version`,
    );
    const server = majorOf(row?.version ?? '');
    return versions.every(({ stdout }) => majorOf(stdout) >= server);
  } catch {
    // The programs are not installed.
    return false;
  }
};

/** As `docs/backup.md` describes: pg_dump, and pg_restore into an empty database. */
export const dumpDatabase = async (
  { name, admin }: Database,
  { folder, credentialsDir }: { readonly folder: string; readonly credentialsDir: string },
): Promise<Backup> => {
  const { host, port, user, password } = admin;
  const env = { ...process.env, PGPASSWORD: String(password) };
  const at = ['--host', host, '--port', String(port), '--username', String(user)];
  const file = join(folder, 'holdpoint.dump');
  await run('pg_dump', [...at, '--format=custom', `--file=${file}`, name], { env });
  return {
    putBack: async () => {
      const [database, owner] = [escapeIdentifier(name), escapeIdentifier(ownerRole)];
      const outside = { ...admin, database: 'postgres' };
      await withAdmin(outside, async (client) => {
        await client.query(`DROP DATABASE ${database} WITH (FORCE)`);
        await client.query(`CREATE DATABASE ${database} OWNER ${owner} ENCODING 'UTF8' TEMPLATE template0`);
      });
      await run('pg_restore', [...at, '--exit-on-error', `--dbname=${name}`, file], { env });
      await provision({ admin: outside, credentialsDir, root, database: name });
    },
  };
};
