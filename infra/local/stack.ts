import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { generateCredentials } from '../credentials/generate.ts';
import { layout, services } from '../credentials/layout.ts';
import type { ServiceName } from '../credentials/layout.ts';
import { DATABASE, provision } from '../postgres/provision.ts';
import { checkBus, startBus } from './bus.ts';
import { keepRunning } from './process/keep-running.ts';
import { createRegistry, endLeftovers } from './process/leftovers.ts';
import type { NatsServer } from './nats/nats.ts';
import { choosePorts } from './ports.ts';
import type { Ports } from './ports.ts';
import type { PostgresServer } from './postgres/postgres.ts';
import { startPostgres } from './postgres/postgres.ts';
import { releaseDataDir } from './postgres/lock.ts';
import { Problem } from './problem.ts';
import type { Progress } from './progress.ts';
import { claimDataDir } from './running.ts';
import type { Running } from './running.ts';
import { serviceUrl, startServices } from './process/service-processes.ts';
import type { ServiceProcess, ServiceProcesses } from './process/service-processes.ts';

export type StackOptions = {
  /** The repository. */
  readonly root: string;
  readonly dataDir: string;
  readonly progress: Progress;
  /** Ports to use if they are free; random ones otherwise. */
  readonly ports?: Partial<Ports>;
  /** Which services to start; all by default. */
  readonly services?: readonly ServiceName[];
  /** More environment variables for a service. */
  readonly env?: Partial<Record<ServiceName, Readonly<Record<string, string>>>>;
  /** An external NATS server with the users of Holdpoint. */
  readonly natsUrl?: string | undefined;
  readonly workspace?: string;
  /** Folders whose repositories tasks may work in, separated as in PATH; one in the workspace by default. */
  readonly repositories?: string | undefined;
  /** Starts PostgreSQL and NATS again when they end unasked, as it always does with the services. */
  readonly keepServers?: boolean;
};

export type RunningStack = {
  readonly ports: Ports;
  readonly natsUrl: string;
  /** Absent for an external server. */
  readonly nats: NatsServer | undefined;
  readonly postgres: PostgresServer;
  readonly services: ServiceProcesses;
  readonly credentialsDir: string;
  readonly workspace: string;
  readonly description: Partial<Running>;
};

export type Stack = {
  readonly start: () => Promise<RunningStack>;
  /** Ends everything in order, also while it is starting. May be called twice, and before `start`. */
  readonly stop: () => Promise<void>;
};

/** Another process has the data folder. */
export class AlreadyRunning extends Error {
  override readonly name = 'AlreadyRunning';
  readonly running: Running;
  constructor(running: Running) {
    super(`it is running already, as process ${running.pid}`);
    this.running = running;
  }
}

/** Waits for both even if one fails: a process that still starts could not be stopped. */
const bothOrNone = async <A, B>(a: Promise<A>, b: Promise<B>): Promise<readonly [A, B]> => {
  await Promise.allSettled([a, b]);
  return Promise.all([a, b]);
};

/** Ends what a start before left running, and says so. */
const cleanUp = async (dataDir: string, processes: string, { say }: Progress): Promise<void> => {
  const ended = [...(await endLeftovers(processes))];
  if ((await releaseDataDir(join(dataDir, 'postgres'))) === 'stopped') ended.push('PostgreSQL');
  if (ended.length > 0) say(`  a run before was killed and left ${ended.join(', ')}: ended`);
};

/** PostgreSQL, NATS and the services, in one data folder: what `npm start`, the demo, the tests and the bench run. */
export const createStack = (options: StackOptions): Stack => {
  const { root, progress } = options;
  const dataDir = resolve(options.dataDir);
  const credentialsDir = join(dataDir, 'credentials');
  const workspace = options.workspace ?? join(dataDir, 'workspace');
  const [journal, state] = [join(dataDir, 'journal'), join(dataDir, 'state')];
  const ownRepositories = join(workspace, 'repositories');
  const repositories = options.repositories ?? ownRepositories;
  const logs = join(dataDir, 'logs');
  const logFile = (name: string) => join(logs, `${name}.log`);
  /** Undo steps, in reverse order. */
  const undo: (() => Promise<void>)[] = [];
  let starting: Promise<RunningStack> | undefined;
  let stopping: Promise<void> | undefined;

  const continueUnlessStopped = () => {
    if (stopping !== undefined) throw new Problem('stopped while it was starting');
  };

  const startDatabase = async (ports: Ports): Promise<PostgresServer> => {
    const where = { dataDir: join(dataDir, 'postgres'), credentialsDir, logFile: logFile('postgres') };
    const server = await progress.step('starting PostgreSQL', () =>
      startPostgres({ ...where, port: ports.postgres }),
    );
    undo.push(server.stop);
    return server;
  };

  const startNatsServer = async (ports: Ports): Promise<NatsServer> => {
    const where = { dir: join(dataDir, 'nats'), credentialsDir, logFile: logFile('nats') };
    const server = await startBus({ ...where, port: ports.nats, monitorPort: ports.natsMonitor }, progress);
    undo.push(server.stop);
    return server;
  };

  const keepServers = (
    { nats, postgres }: Pick<RunningStack, 'nats' | 'postgres'>,
    onStart: () => Promise<void>,
  ): void => {
    const { say } = progress;
    undo.push(keepRunning('PostgreSQL', postgres, { say, onStart }).stop);
    if (nats !== undefined) undo.push(keepRunning('NATS', nats, { say, onStart }).stop);
  };

  const describe = (
    natsUrl: string,
    natsServer: string | undefined,
    ports: Ports,
    started: ServiceProcesses,
  ): Partial<Running> => ({
    natsUrl,
    ...(natsServer !== undefined && { natsServer }),
    natsSeedFile: layout(credentialsDir).natsSeed('operator'),
    tokenFile: layout(credentialsDir).operatorToken,
    database: `postgres://127.0.0.1:${ports.postgres}/${DATABASE}`,
    services: Object.fromEntries(Object.values(started).map(({ name }) => [name, serviceUrl(ports[name])])),
    workspace,
    logs,
    credentials: credentialsDir,
  });

  const run = async (): Promise<RunningStack> => {
    const claimed = await claimDataDir(dataDir);
    if ('running' in claimed) throw new AlreadyRunning(claimed.running);
    undo.push(claimed.claim.release);
    for (const folder of [logs, ownRepositories]) await mkdir(folder, { recursive: true });
    const processes = join(dataDir, 'processes.json');
    // Before the ports are chosen, so that those which were held are free again.
    await cleanUp(dataDir, processes, progress);
    const registry = createRegistry(processes);
    undo.push(registry.clear);
    await generateCredentials(credentialsDir);
    const ports = await choosePorts(options.ports);

    const [nats, postgres] = await bothOrNone(
      options.natsUrl === undefined ? startNatsServer(ports) : checkBus(options.natsUrl, credentialsDir),
      startDatabase(ports),
    );
    const register = async () => {
      if (nats === undefined) return;
      await registry.add({ name: 'nats', pid: nats.child().pid, marker: join(dataDir, 'nats') });
    };
    await register();
    continueUnlessStopped();
    await progress.step('migrating the database', () =>
      provision({ admin: postgres.admin, credentialsDir, root }),
    );
    continueUnlessStopped();

    const natsUrl = nats?.url ?? options.natsUrl ?? '';
    const begun: ServiceProcess[] = [];
    // They stop together: each depends only on the two servers.
    undo.push(async () => void (await Promise.all(begun.map((service) => service.stop()))));
    const database = { host: '127.0.0.1', port: ports.postgres, name: DATABASE };
    const started = await startServices({
      names: options.services ?? services,
      context: {
        root,
        natsUrl,
        database,
        credentialsDir,
        workspace,
        journal,
        state,
        repositories,
        hidden: [dataDir],
      },
      ports,
      env: options.env ?? {},
      logFile,
      registry,
      progress,
      stopping: () => stopping !== undefined,
      onStarted: (service) => void begun.push(service),
    });
    continueUnlessStopped();

    if (options.keepServers === true) keepServers({ nats, postgres }, register);
    const description = describe(natsUrl, nats?.origin, ports, started);
    await claimed.claim.publish(description);
    return { ports, natsUrl, nats, postgres, services: started, credentialsDir, workspace, description };
  };

  /** Reports failures to stop after all others have stopped. */
  const unwind = async (): Promise<void> => {
    await starting?.catch(() => undefined);
    const problems: unknown[] = [];
    for (const end of undo.splice(0).toReversed())
      await end().catch((error: unknown) => problems.push(error));
    if (problems.length > 0) throw new AggregateError(problems, 'not everything could be stopped');
  };
  const stop = () => (stopping ??= unwind());

  const start = async (): Promise<RunningStack> => {
    starting ??= run();
    try {
      return await starting;
    } catch (error) {
      await stop();
      throw error;
    }
  };
  return { start, stop };
};
