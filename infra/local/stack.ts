import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { generateCredentials } from '../credentials/generate.ts';
import { layout, services } from '../credentials/layout.ts';
import type { ServiceName } from '../credentials/layout.ts';
import { connectAs } from '../nats/connect.ts';
import { DATABASE, provision } from '../postgres/provision.ts';
import { endLeftovers, createRegistry } from './leftovers.ts';
import type { NatsServer } from './nats.ts';
import { startNats } from './nats.ts';
import { findNats, natsSearchOf } from './nats-program.ts';
import { poll } from './poll.ts';
import { choosePorts } from './ports.ts';
import type { Ports } from './ports.ts';
import type { PostgresServer } from './postgres.ts';
import { startPostgres } from './postgres.ts';
import { releaseDataDir } from './postgres-lock.ts';
import { messageOf, Problem } from './problem.ts';
import type { Progress } from './progress.ts';
import { claimDataDir } from './running.ts';
import type { Running } from './running.ts';
import { mainFile, serviceEnvironment } from './services.ts';
import { supervise } from './supervisor.ts';
import type { Supervised } from './supervisor.ts';

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
  /** A NATS server that somebody else runs, with Holdpoint's users. */
  readonly natsUrl?: string | undefined;
  readonly workspace?: string;
};

export type RunningStack = {
  readonly ports: Ports;
  readonly natsUrl: string;
  /** Absent where somebody else runs it. */
  readonly nats: NatsServer | undefined;
  readonly postgres: PostgresServer;
  readonly services: Readonly<Partial<Record<ServiceName, Supervised<ServiceName>>>>;
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

const READY_WITHIN_MS = 60_000;

const serviceUrl = (port: number) => `http://127.0.0.1:${port}`;

const awaitReady = async (supervised: Supervised, port: number, stopping: () => boolean): Promise<void> => {
  const answer = await poll(
    async () => {
      if (stopping()) return 'stopping';
      if (supervised.failure() !== undefined) return 'failed';
      const { ok } = await fetch(`${serviceUrl(port)}/readyz`, { signal: AbortSignal.timeout(2_000) });
      return ok ? 'ready' : undefined;
    },
    { timeoutMs: READY_WITHIN_MS, what: `${supervised.name} is not ready` },
  );
  if (answer === 'failed') throw new Problem(supervised.failure() ?? `${supervised.name} failed`);
};

/** Waits for both even if one fails: what is still starting could not be stopped. */
const bothOrNone = async <A, B>(a: Promise<A>, b: Promise<B>): Promise<readonly [A, B]> => {
  await Promise.allSettled([a, b]);
  return Promise.all([a, b]);
};

/** A server that somebody else runs must know our users. */
const checkBus = async (url: string, credentialsDir: string): Promise<undefined> => {
  try {
    await (await connectAs({ url, credentialsDir, user: 'operator' })).close();
  } catch (error) {
    throw new Problem(
      `NATS at ${url} does not let in the users of ${credentialsDir}/nats (${messageOf(error)}): give it the configuration that \`node infra/nats/main.ts --credentials ${credentialsDir}\` prints`,
      { cause: error },
    );
  }
};

/** PostgreSQL, NATS and the services, in one data folder: what `npm start`, the demo, the tests and the bench run. */
export const createStack = (options: StackOptions): Stack => {
  const { root, progress } = options;
  const dataDir = resolve(options.dataDir);
  const credentialsDir = join(dataDir, 'credentials');
  const workspace = options.workspace ?? join(dataDir, 'workspace');
  const logs = join(dataDir, 'logs');
  const logFile = (name: string) => join(logs, `${name}.log`);
  const undo: (() => Promise<void>)[] = [];
  let starting: Promise<RunningStack> | undefined;
  let stopping: Promise<void> | undefined;

  const begun = <Thing>(thing: Thing, end: () => Promise<void>): Thing => {
    undo.push(end);
    return thing;
  };
  const continueUnlessStopped = () => {
    if (stopping !== undefined) throw new Problem('stopped while it was starting');
  };

  const startNatsServer = async (ports: Ports): Promise<NatsServer> => {
    const program = await findNats(natsSearchOf(process.env), progress);
    continueUnlessStopped();
    const server = await progress.step('starting NATS', () =>
      startNats({
        program,
        dir: join(dataDir, 'nats'),
        credentialsDir,
        port: ports.nats,
        monitorPort: ports.natsMonitor,
        logFile: logFile('nats'),
      }),
    );
    return begun(server, server.stop);
  };

  const startDatabase = async (ports: Ports): Promise<PostgresServer> => {
    const server = await progress.step('starting PostgreSQL', () =>
      startPostgres({
        dataDir: join(dataDir, 'postgres'),
        credentialsDir,
        port: ports.postgres,
        logFile: logFile('postgres'),
      }),
    );
    return begun(server, server.stop);
  };

  const startServices = async (
    natsUrl: string,
    ports: Ports,
    registry: ReturnType<typeof createRegistry>,
  ) => {
    const started: Partial<Record<ServiceName, Supervised<ServiceName>>> = {};
    // They stop together: each waits for nobody but the two servers.
    undo.push(async () => {
      await Promise.all(Object.values(started).map((service) => service.stop()));
    });
    for (const service of options.services ?? services) {
      const database = { host: '127.0.0.1', port: ports.postgres, name: DATABASE };
      const context = { root, natsUrl, database, credentialsDir, workspace, httpPort: ports[service] };
      const main = mainFile(root, service);
      started[service] = await supervise(
        {
          name: service,
          command: process.execPath,
          args: [main],
          logFile: logFile(service),
          cwd: root,
          env: { ...serviceEnvironment(service, context, process.env), ...options.env?.[service] },
        },
        { say: progress.say, onStart: ({ pid }) => registry.add({ name: service, pid, marker: main }) },
      );
    }
    await progress.step('starting the services', () =>
      Promise.all(
        Object.values(started).map((each) =>
          awaitReady(each, ports[each.name], () => stopping !== undefined),
        ),
      ),
    );
    return started;
  };

  const run = async (): Promise<RunningStack> => {
    const claimed = await claimDataDir(dataDir);
    if ('running' in claimed) throw new AlreadyRunning(claimed.running);
    undo.push(claimed.claim.release);
    for (const folder of [logs, workspace]) await mkdir(folder, { recursive: true });
    const processes = join(dataDir, 'processes.json');
    const ended = [...(await endLeftovers(processes))];
    // Before the ports are chosen, so that it gets back the one it had.
    if ((await releaseDataDir(join(dataDir, 'postgres'))) === 'stopped') ended.push('PostgreSQL');
    if (ended.length > 0) progress.say(`  a run before was killed and left ${ended.join(', ')}: ended`);
    const registry = createRegistry(processes);
    undo.push(registry.clear);
    await generateCredentials(credentialsDir);
    const ports = await choosePorts(options.ports);

    const [nats, postgres] = await bothOrNone(
      options.natsUrl === undefined ? startNatsServer(ports) : checkBus(options.natsUrl, credentialsDir),
      startDatabase(ports),
    );
    if (nats !== undefined)
      await registry.add({ name: 'nats', pid: nats.child().pid, marker: join(dataDir, 'nats') });
    continueUnlessStopped();
    await progress.step('migrating the database', () =>
      provision({ admin: postgres.admin, credentialsDir, root }),
    );
    continueUnlessStopped();
    const natsUrl = nats?.url ?? options.natsUrl ?? '';
    const started = await startServices(natsUrl, ports, registry);
    continueUnlessStopped();

    const files = layout(credentialsDir);
    const description: Partial<Running> = {
      natsUrl,
      natsSeedFile: files.natsSeed('operator'),
      tokenFile: files.operatorToken,
      database: `postgres://127.0.0.1:${ports.postgres}/${DATABASE}`,
      services: Object.fromEntries(Object.values(started).map(({ name }) => [name, serviceUrl(ports[name])])),
      workspace,
      logs,
      credentials: credentialsDir,
    };
    await claimed.claim.publish(description);
    return { ports, natsUrl, nats, postgres, services: started, credentialsDir, workspace, description };
  };

  /** What was begun last ends first; what cannot be ended is told after the rest has been. */
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
