import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { adminRole } from '@holdpoint/infra/credentials/layout';
import { readPostgresPassword } from '@holdpoint/infra/credentials/read';
import { choosePorts } from '@holdpoint/infra/local/ports';
import { startPostgres } from '@holdpoint/infra/local/postgres/postgres';
import { run } from '@holdpoint/infra/local/run';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { container, IMAGES, killable, withVolume } from './containers.ts';
import type { Admin, Backend } from './run.ts';

/** A PostgreSQL that a test may break. */
export type PostgresServer = {
  readonly admin: Admin;
  readonly kill: () => Promise<void>;
  readonly stop: () => Promise<void>;
  /** On the same port and files, after `stop` or `kill`. */
  readonly start: () => Promise<void>;
  /** While it is stopped: copies its files, and restores that copy. */
  readonly copyFiles: () => Promise<void>;
  readonly putFilesBack: () => Promise<void>;
  /** Ends it permanently. */
  readonly remove: () => Promise<void>;
};

type Where = { readonly folder: string; readonly runFolder: string; readonly credentialsDir: string };

/** Several systems share it, each with several services and replicas. */
const CONNECTIONS_MAX = '400';
const READY_WITHIN_MS = 60_000;
const COPIED_WITHIN_MS = 60_000;

const inContainer = async ({ runFolder, credentialsDir }: Where): Promise<PostgresServer> => {
  const password = await readPostgresPassword(credentialsDir, adminRole);
  const { postgres: port } = await choosePorts();
  const started = await withVolume(container(IMAGES.postgres, runFolder), '/var/lib/postgresql')
    .withCommand(['postgres', '-c', `max_connections=${CONNECTIONS_MAX}`])
    .withEnvironment({ POSTGRES_USER: adminRole, POSTGRES_PASSWORD: password, POSTGRES_DB: 'postgres' })
    // A fixed port: Docker assigns another one when a container restarts.
    .withExposedPorts({ container: 5432, host: port })
    .start();
  const admin: Admin = {
    host: started.getHost(),
    port,
    user: adminRole,
    password,
    database: 'postgres',
    ssl: false,
  };
  const { kill, stop, start, remove, runOnFiles } = await killable(started);
  const ready = (): Promise<unknown> =>
    withAdmin(admin, (client) => client.query('SELECT 1'), READY_WITHIN_MS);
  await ready();
  return {
    admin,
    kill,
    stop,
    start: async () => void (await start(), await ready()),
    copyFiles: () => runOnFiles('cp -a "$PGDATA" "$PGDATA.copy"'),
    putFilesBack: () => runOnFiles('rm -rf "$PGDATA" && cp -a "$PGDATA.copy" "$PGDATA"'),
    remove,
  };
};

const asProcess = async ({ folder, credentialsDir }: Where): Promise<PostgresServer> => {
  const { postgres: port } = await choosePorts();
  const dataDir = join(folder, 'postgres');
  const server = await startPostgres({
    dataDir,
    credentialsDir,
    port,
    logFile: join(folder, 'postgres.log'),
    settings: { max_connections: CONNECTIONS_MAX },
  });
  const { kill, stop, start } = server;
  const admin: Admin = { ...server.admin, host: '127.0.0.1', port };
  const copy = `${dataDir}.copy`;
  const copyTo = (from: string, to: string): Promise<string> =>
    run('cp', ['-a', from, to], { timeoutMs: COPIED_WITHIN_MS });
  return {
    admin,
    kill,
    stop,
    start,
    copyFiles: async () => void (await copyTo(dataDir, copy)),
    putFilesBack: async () => {
      await rm(dataDir, { recursive: true });
      await copyTo(copy, dataDir);
    },
    remove: stop,
  };
};

export const startPostgresServer = (backend: Backend, where: Where): Promise<PostgresServer> =>
  backend === 'docker' ? inContainer(where) : asProcess(where);
