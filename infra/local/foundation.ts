import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DATABASE } from '../credentials/layout.ts';
import { runNats } from './nats/nats.ts';
import type { NatsServer } from './nats/nats.ts';
import { choosePorts } from './ports.ts';
import type { Ports } from './ports.ts';
import { releaseDataDir } from './postgres/lock.ts';
import { SMALL_POSTGRES, startPostgres } from './postgres/postgres.ts';
import type { PostgresServer } from './postgres/postgres.ts';
import { createRegistry, endLeftovers } from './process/leftovers.ts';
import type { Registry } from './process/leftovers.ts';
import { Problem } from './problem.ts';
import type { Progress } from './progress.ts';
import { claimDataDir } from './running.ts';
import type { Claim, Running } from './running.ts';
import { runStep } from './step.ts';
import type { Undo } from './undo.ts';

export type Home = {
  readonly dataDir: string;
  /** The folder of the database files, below the data folder. */
  readonly postgresFolder?: string;
  readonly progress: Progress;
  readonly undo: Undo;
};

export type FoundationOptions = Home & {
  /** The repository. */
  readonly root: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Ports to use if they are free; random ones otherwise. */
  readonly ports?: Partial<Ports> | undefined;
  /** An external NATS server with the users of Holdpoint. */
  readonly natsUrl?: string | undefined;
  /** Prefers little memory over throughput. */
  readonly isSmall?: boolean | undefined;
  /** Ends the start, between its steps or in the search for NATS. */
  readonly signal?: AbortSignal;
};

/** A data folder with credentials, a registry of processes, and the two servers, ready for services. */
export type Foundation = {
  readonly registry: Registry;
  readonly credentialsDir: string;
  readonly logFile: (name: string) => string;
  readonly ports: Ports;
  readonly natsUrl: string;
  /** Absent for an external server. */
  readonly nats: NatsServer | undefined;
  readonly postgres: PostgresServer;
  readonly database: { readonly host: string; readonly port: number; readonly name: string };
  /** Registers the present process of NATS. */
  readonly registerNats: () => Promise<void>;
};

/** Another process has the data folder. */
export class AlreadyRunning extends Problem {
  readonly running: Running;
  constructor(dataDir: string, running: Running) {
    super(`process ${running.pid} uses ${dataDir}: stop it, or set another folder`);
    this.running = running;
  }
}

/** Waits for both even if one fails: a process that still starts could not be stopped. */
const bothOrNone = async <A, B>(a: Promise<A>, b: Promise<B>): Promise<readonly [A, B]> => {
  await Promise.allSettled([a, b]);
  return Promise.all([a, b]);
};

const processesFile = (dataDir: string): string => join(dataDir, 'processes.json');
const postgresDirOf = ({ dataDir, postgresFolder = 'postgres' }: Home): string =>
  join(dataDir, postgresFolder);

/** Takes the data folder, and ends the processes that a killed start left in it. Throws `AlreadyRunning`. */
export const takeDataDir = async (home: Home): Promise<Claim> => {
  const { dataDir, progress, undo } = home;
  const claimed = await claimDataDir(dataDir);
  if ('running' in claimed) throw new AlreadyRunning(dataDir, claimed.running);
  undo.add(claimed.claim.release);
  const ended = [...(await endLeftovers(processesFile(dataDir)))];
  if ((await releaseDataDir(postgresDirOf(home))) === 'stopped') ended.push('PostgreSQL');
  if (ended.length > 0) progress.say(`  an earlier start was killed and left ${ended.join(', ')}: ended`);
  return claimed.claim;
};

/** Starts what all stacks of processes have in common, in a data folder that the caller has taken. */
export const startFoundation = async (options: FoundationOptions): Promise<Foundation> => {
  const { root, dataDir, progress, undo, env = process.env, signal } = options;
  const credentialsDir = join(dataDir, 'credentials');
  const logs = join(dataDir, 'logs');
  const logFile = (name: string) => join(logs, `${name}.log`);
  await mkdir(logs, { recursive: true });
  const registry = createRegistry(processesFile(dataDir));
  undo.add(registry.clear);
  await runStep('credentials', credentialsDir);
  const ports = await choosePorts(options.ports);

  const natsOf = async (): Promise<NatsServer | undefined> => {
    if (options.natsUrl !== undefined) {
      await runStep('checkNats', { url: options.natsUrl, credentialsDir });
      return undefined;
    }
    const where = { dir: join(dataDir, 'nats'), port: ports.nats, monitorPort: ports.natsMonitor };
    const program = await runStep('prepareNats', { ...where, credentialsDir }, { progress, env, signal });
    const server = await progress.step('starting NATS', () =>
      runNats({ ...where, program, logFile: logFile('nats') }),
    );
    undo.add(server.stop);
    return server;
  };
  const postgresOf = async (): Promise<PostgresServer> => {
    const where = { dataDir: postgresDirOf(options), credentialsDir, logFile: logFile('postgres') };
    const server = await progress.step('starting PostgreSQL', () =>
      startPostgres({
        ...where,
        port: ports.postgres,
        ...(options.isSmall === true && { settings: SMALL_POSTGRES }),
      }),
    );
    undo.add(server.stop);
    return server;
  };
  const [nats, postgres] = await bothOrNone(natsOf(), postgresOf());
  const registerNats = async () => {
    if (nats === undefined) return;
    await registry.add({ name: 'nats', pid: nats.child().pid, marker: join(dataDir, 'nats') });
  };
  await registerNats();
  signal?.throwIfAborted();
  await progress.step('migrating the database', () =>
    runStep('database', { admin: postgres.admin, credentialsDir, root }),
  );
  signal?.throwIfAborted();
  return {
    registry,
    credentialsDir,
    logFile,
    ports,
    natsUrl: nats?.url ?? options.natsUrl ?? '',
    nats,
    postgres,
    database: { host: '127.0.0.1', port: ports.postgres, name: DATABASE },
    registerNats,
  };
};
