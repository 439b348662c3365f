import { cp, mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { CORE_SERVICES, type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { NatsUser } from '@holdpoint/infra/credentials/layout';
import { root } from '@holdpoint/infra/local/folders';
import { isReadyAt } from '@holdpoint/infra/local/process/service-processes';
import { processEnvironment } from '@holdpoint/infra/local/process/services';
import { createUndo } from '@holdpoint/infra/local/undo';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { operatorMode } from '@holdpoint/infra/testing/operator-mode';
import type { NatsConnection } from '@nats-io/transport-node';
import { type ProcessOptions, type ServiceProcess, startProcess } from './as-process.ts';
import { type Client, connectClient } from '../bus/client.ts';
import { cloneDatabase, type Database } from './databases.ts';
import { type ServiceInProcess, startInProcess } from './in-process.ts';
import { type NatsServer, type NatsServerOptions, startNatsServer } from './nats-server.ts';
import { type Admin, currentRun, type Run } from './run.ts';
import { untilTrue } from '../until.ts';

type Env = Readonly<Record<string, string>>;

/** A NATS server, a database and a workspace for one test, with the services that it starts. */
export type System = {
  readonly run: Run;
  readonly folder: string;
  readonly nats: NatsServer;
  readonly database: Database;
  readonly workspace: string;
  readonly client: Client;
  /** `core`: of a process that runs orchestrator, approvals and recovery. */
  readonly environment: (service: ServiceName | 'core') => NodeJS.ProcessEnv;
  /** A service in the process of the test. */
  readonly start: (service: ServiceName | 'core', env?: Env) => Promise<ServiceInProcess>;
  readonly startAll: () => Promise<Readonly<Record<ServiceName, ServiceInProcess>>>;
  /** A service as a process, restarted after each exit. */
  readonly spawn: (
    service: ServiceName | 'core',
    options?: Pick<ProcessOptions, 'envOfLife'> & { readonly env?: Env },
  ) => Promise<ServiceProcess>;
  /** A connection to the bus as one of its users. */
  readonly connect: (user: NatsUser) => Promise<NatsConnection>;
  /** The login of a user of the other account; only in operator mode. */
  readonly otherCreds: Uint8Array | undefined;
  /** Ends everything, in any state. */
  readonly stop: () => Promise<void>;
};

export type SystemOptions = Omit<NatsServerOptions, 'accounts'> & {
  /** The bus belongs to an operator and is used by another account too; all users of the system log in with `.creds`. */
  readonly operatorMode?: boolean;
  /** A separate PostgreSQL, prepared with `prepareServer`, instead of the shared one. */
  readonly admin?: Admin;
  /** Shortens leases, resends and acknowledgement waits, for tests that kill services and wait for the repair. */
  readonly shortTimers?: boolean;
  /** Shortens resends and acknowledgement waits only: many effects at once need the full lease on a slow machine. */
  readonly shortResends?: boolean;
};

const SHORT_RESENDS: Env = {
  HOLDPOINT_TEST_RESEND_MS: '4000',
  HOLDPOINT_TEST_ACK_WAIT_MS: '6000',
};
const SHORT_TIMERS: Env = { ...SHORT_RESENDS, HOLDPOINT_TEST_LEASE_MS: '6000' };

/** The bus of an operator, with credentials of its own: the shared ones keep their seeds. */
const underOperator = async (shared: Run, folder: string) => {
  const credentialsDir = join(folder, 'credentials');
  await cp(shared.credentialsDir, credentialsDir, { recursive: true });
  const mode = await operatorMode({ credentialsDir });
  return { run: { ...shared, credentialsDir }, ...mode };
};

export const createSystem = async (options: SystemOptions = {}): Promise<System> => {
  const shared = currentRun();
  const folder = await mkdtemp(join(shared.folder, 'system-'));
  const operator = options.operatorMode === true ? await underOperator(shared, folder) : undefined;
  const { run } = operator ?? { run: shared };
  const { credentialsDir } = run;
  const workspace = join(folder, 'workspace');
  await mkdir(workspace);

  const undo = createUndo();
  const begun = <Thing>(thing: Thing, end: () => Promise<unknown>): Thing => {
    undo.add(end);
    return thing;
  };

  try {
    const admin = options.admin ?? run.admin;
    const database = await cloneDatabase(admin);
    begun(database, database.drop);
    const nats = await startNatsServer(run, folder, {
      ...options,
      ...(operator && { accounts: operator.accounts }),
    });
    begun(nats, nats.remove);
    const client = await connectClient(nats.url, credentialsDir);
    begun(client, client.close);

    const environment: System['environment'] = (service) => {
      const { host, port } = database.admin;
      const context = {
        root,
        natsUrl: nats.url,
        database: { host, port, name: database.name },
        credentialsDir,
        workspace,
        httpPort: 0,
      };
      const { shortTimers = false, shortResends = false } = options;
      const timers = shortTimers ? SHORT_TIMERS : shortResends ? SHORT_RESENDS : {};
      const services = service === 'core' ? CORE_SERVICES : [service];
      return { ...processEnvironment(services, context, process.env), ...timers };
    };

    const start: System['start'] = async (service, env) => {
      const started = await startInProcess(service, { ...environment(service), ...env });
      return begun(started, started.stop);
    };

    const spawn: System['spawn'] = async (service, { env, envOfLife } = {}) => {
      const started = await startProcess(service, {
        folder,
        env: { ...environment(service), ...env },
        ...(envOfLife && { envOfLife }),
      });
      return begun(started, started.stop);
    };

    const startAll: System['startAll'] = async () => {
      const started = await Promise.all(SERVICES.map((service) => start(service)));
      await untilTrue('all services are ready', async () =>
        (
          await Promise.all(started.map(({ httpPort }) => isReadyAt(`http://127.0.0.1:${String(httpPort)}`)))
        ).every(Boolean),
      );
      const [orchestrator, approvals, executor, recovery] = started as [
        ServiceInProcess,
        ServiceInProcess,
        ServiceInProcess,
        ServiceInProcess,
      ];
      return { orchestrator, approvals, executor, recovery };
    };

    const connect: System['connect'] = async (user) => {
      const connection = await connectAs({ url: nats.url, credentialsDir, user });
      return begun(connection, () => connection.close());
    };

    return {
      run,
      folder,
      nats,
      database,
      workspace,
      client,
      environment,
      start,
      startAll,
      spawn,
      connect,
      otherCreds: operator?.otherCreds,
      stop: undo.run,
    };
  } catch (error) {
    await undo.run();
    throw error;
  }
};
