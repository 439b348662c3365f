import { mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isMissing, readIfPresent } from '../../credentials/keep.ts';
import { adminRole } from '../../credentials/layout.ts';
import { readPostgresPassword } from '../../credentials/read.ts';
import type { AdminConnection } from '../../postgres/admin.ts';
import { rotateLog, startChild } from '../process/child.ts';
import type { Child, Farewell } from '../process/child.ts';
import { findPostgres } from './binaries.ts';
import type { PostgresBinaries } from './binaries.ts';
import { releaseDataDir } from './lock.ts';
import { poll } from '../poll.ts';
import { messageOf, Problem } from '../problem.ts';
import { run } from '../run.ts';
import { tail } from '../process/tail.ts';
import { unprivileged } from './unprivileged.ts';
import type { RunAs } from './unprivileged.ts';

export type PostgresOptions = {
  readonly dataDir: string;
  readonly credentialsDir: string;
  readonly port: number;
  readonly logFile: string;
  /** Beside those that the promises rest on, or in their place. */
  readonly settings?: Readonly<Record<string, string>>;
};

export type PostgresServer = {
  readonly port: number;
  readonly dataDir: string;
  readonly admin: AdminConnection;
  readonly child: () => Child;
  readonly stop: () => Promise<void>;
  readonly kill: () => Promise<void>;
  /** On the same port and files, after `stop` or `kill`. */
  readonly start: () => Promise<void>;
};

/** The settings that the promises rest on are written out, though most are the defaults. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  password_encryption: 'scram-sha-256',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  wal_level: 'replica',
  max_connections: '100',
  client_connection_check_interval: '5s',
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
  deadlock_timeout: '1s',
  log_lock_waits: 'on',
  log_min_duration_statement: '500ms',
  log_parameter_max_length: '0',
  log_line_prefix: '%m %u %a ',
  log_timezone: 'UTC',
  timezone: 'UTC',
  jit: 'off',
};

/**
 * Less shared memory and fewer processes: the one that reads a page also waits for it, and there is no logical replication.
 * Fewer wake-ups at rest: a checkpoint writes its few pages in a minute, and renewals of leases, which nothing waits for, reach
 * the disk within seconds.
 */
export const SMALL_POSTGRES: Readonly<Record<string, string>> = {
  shared_buffers: '32MB',
  max_connections: '50',
  io_method: 'sync',
  max_logical_replication_workers: '0',
  checkpoint_completion_target: '0.2',
  wal_writer_delay: '1s',
};

const INITDB_WITHIN_MS = 120_000;
/** It may have to replay what a kill left in its log. */
const READY_WITHIN_MS = 60_000;
const SESSIONS_GONE_WITHIN_MS = 10_000;
const FAREWELL: Farewell = [
  ['SIGINT', 20_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 10_000],
];

const exists = async (path: string): Promise<boolean> => {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
};

const idsOf = ({ uid, gid }: RunAs) => ({
  ...(uid !== undefined && { uid }),
  ...(gid !== undefined && { gid }),
});

/** Makes the database files next to where they will lie, and moves them there: an interrupted start leaves no half of them. */
const initialise = async (
  options: PostgresOptions,
  { initdb }: PostgresBinaries,
  runAs: RunAs,
): Promise<void> => {
  const { dataDir, credentialsDir } = options;
  const scratch = await mkdtemp(`${dataDir}.new-`);
  try {
    const passwordFile = join(scratch, 'password');
    const fresh = join(scratch, 'data');
    await writeFile(passwordFile, `${await readPostgresPassword(credentialsDir, adminRole)}\n`, {
      mode: 0o600,
    });
    await mkdir(fresh, { mode: 0o700 });
    for (const path of [scratch, passwordFile, fresh]) await runAs.give(path);
    const auth = [
      '--auth=scram-sha-256',
      `--username=${adminRole}`,
      `--pwfile=${passwordFile}`,
      '--data-checksums',
    ];
    // The built-in locale is the same on every machine, and needs none of the system's.
    const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
    const [command, args] = runAs.wrap(initdb, [`--pgdata=${fresh}`, ...auth, ...locale]);
    await run(command, args, { timeoutMs: INITDB_WITHIN_MS, cwd: '/', ...idsOf(runAs) });
    await rename(fresh, dataDir);
  } catch (error) {
    throw new Problem(`PostgreSQL could not make its database files: ${messageOf(error)}`, { cause: error });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};

/** Line of the lock file in which the server says how far it is. */
const STATUS_LINE = 7;

/** Asked of the lock file, not of the port: on the port another server could answer. */
const isReady = async (dataDir: string, pid: number): Promise<'ready' | undefined> => {
  const lines = ((await readIfPresent(join(dataDir, 'postmaster.pid'))) ?? '').split('\n');
  return Number(lines[0]) === pid && lines[STATUS_LINE]?.trim() === 'ready' ? 'ready' : undefined;
};

/** Starts a PostgreSQL of our own on 127.0.0.1, makes its files if there are none, and waits until it serves. */
export const startPostgres = async (options: PostgresOptions): Promise<PostgresServer> => {
  const dataDir = resolve(options.dataDir);
  const { port, logFile } = options;
  const binaries = await findPostgres();
  await mkdir(dirname(dataDir), { recursive: true });
  const runAs = await unprivileged(dataDir, dirname(dataDir), binaries.postgres);
  if (!(await exists(dataDir))) await initialise({ ...options, dataDir }, binaries, runAs);
  const password = await readPostgresPassword(options.credentialsDir, adminRole);
  const admin: AdminConnection = {
    host: '127.0.0.1',
    port,
    user: adminRole,
    password,
    database: 'postgres',
    ssl: false,
  };
  let child: Child | undefined;

  const launch = async (): Promise<Child> => {
    await rotateLog(logFile);
    const settings = Object.entries({ ...SETTINGS, ...options.settings }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    const [command, args] = runAs.wrap(binaries.postgres, ['-D', dataDir, '-p', String(port), ...settings]);
    return startChild({ name: 'postgres', command, args, logFile, cwd: '/', ...idsOf(runAs) });
  };

  const start = async () => {
    await releaseDataDir(dataDir);
    const end = await poll<'ready' | Problem>(
      async () => {
        const started = await launch();
        child = started;
        const outcome = await poll(
          async () => (started.hasExited() ? 'exited' : isReady(dataDir, started.pid)),
          {
            timeoutMs: READY_WITHIN_MS,
            what: 'PostgreSQL is not ready',
          },
        );
        if (outcome === 'ready') return outcome;
        const lastWords = await tail(logFile, 3);
        // The sessions of a killed server need a moment to notice that it is gone.
        if (lastWords.includes('shared memory block')) return undefined;
        return new Problem(`PostgreSQL ended at once, see ${logFile}:\n${lastWords}`);
      },
      { timeoutMs: SESSIONS_GONE_WITHIN_MS, everyMs: 250, what: 'the sessions of the PostgreSQL before end' },
    );
    if (end instanceof Problem) throw end;
  };

  const running = (): Child => {
    if (child === undefined) throw new Error('PostgreSQL has not been started');
    return child;
  };
  const stop = async () => void (await running().stop(FAREWELL));
  const kill = async () => void (await running().stop([['SIGKILL', 10_000]]));

  try {
    await start();
  } catch (error) {
    if (child !== undefined) await stop();
    throw error;
  }
  return { port, dataDir, admin, child: running, stop, kill, start };
};
