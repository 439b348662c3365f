import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { Foundation } from '@holdpoint/infra/local/foundation';
import { poll } from '@holdpoint/infra/local/poll';
import { choosePorts } from '@holdpoint/infra/local/ports';
import {
  awaitReady,
  type ServiceProcess,
  startServiceProcess,
} from '@holdpoint/infra/local/process/service-processes';
import { type Form, processesOf } from '@holdpoint/infra/local/stack';
import type { Undo } from '@holdpoint/infra/local/undo';
import { type FaultProxy, startFaultProxy } from '../fault-proxy.ts';
import { type Breakable, startBreakable } from './breakable.ts';
import type { Ended, Instance, Upstream } from './deployment.ts';

const READY_WITHIN_MS = 90_000;

export type LocalInstance = Omit<ServiceProcess, 'stop'> &
  Breakable & {
    readonly links: Readonly<Record<Upstream, FaultProxy>>;
    readonly restart: () => Promise<void>;
  };

export type InstancesOptions = {
  readonly root: string;
  readonly folder: string;
  readonly workspace: string;
  readonly foundation: Foundation;
  readonly undo: Undo;
  readonly form: Form;
  /** Processes of each kind. */
  readonly replicas: number;
  /** The environment for the services. */
  readonly env: NodeJS.ProcessEnv;
  readonly serviceEnv: Readonly<Record<string, string>>;
  readonly onEnded: (ended: Ended) => void;
};

/** A health port for each instance. */
const healthPorts = async (count: number): Promise<readonly number[]> => {
  const ports = new Set<number>();
  while (ports.size < count) ports.add((await choosePorts()).orchestrator);
  return [...ports];
};

const startInstance = async (
  { name, services }: Instance,
  httpPort: number,
  { root, folder, workspace, foundation, env, serviceEnv, onEnded }: InstancesOptions,
): Promise<LocalInstance> => {
  const { ports, database, credentialsDir, logFile, registry } = foundation;
  const links = {
    nats: await startFaultProxy('127.0.0.1', ports.nats),
    postgres: await startFaultProxy(database.host, database.port),
  };
  const context = {
    root,
    natsUrl: `nats://${links.nats.host}:${String(links.nats.port)}`,
    database: { ...database, host: links.postgres.host, port: links.postgres.port },
    credentialsDir,
    workspace,
    httpPort,
  };
  const where = {
    name,
    services,
    context,
    folder,
    inherited: env,
    env: serviceEnv,
    logFile: logFile(name),
  };
  const instance = await startBreakable(
    (hooks) => startServiceProcess({ ...where, registry, ...hooks }),
    onEnded,
  );
  return {
    ...instance,
    links,
    restart: async () => {
      const before = instance.pid();
      instance.end('SIGTERM');
      const again = async () => (instance.pid() !== before && (await instance.isReady()) ? true : undefined);
      await poll(again, { timeoutMs: READY_WITHIN_MS, what: `${name} is ready again` });
    },
    stop: async () => {
      await instance.stop();
      await Promise.all(Object.values(links).map((link) => link.close()));
    },
  };
};

/** One more process, which is ready. */
export const addInstance = async (instance: Instance, options: InstancesOptions): Promise<LocalInstance> => {
  const [port = 0] = await healthPorts(1);
  const added = await startInstance(instance, port, options);
  options.undo.add(added.stop);
  try {
    await awaitReady(added, { timeoutMs: READY_WITHIN_MS });
    return added;
  } catch (error) {
    await added.stop();
    throw error;
  }
};

/** Several instances of each process, each with its own proxy to NATS and to PostgreSQL. */
export const startInstances = async (options: InstancesOptions): Promise<readonly LocalInstance[]> => {
  const all = processesOf(SERVICES, options.form).flatMap(({ name, services }) =>
    Array.from({ length: options.replicas }, (_, i): Instance => ({
      name: `${name}-${String(i + 1)}`,
      services,
    })),
  );
  const ports = await healthPorts(all.length);
  const started: LocalInstance[] = [];
  options.undo.add(() => Promise.all(started.map((instance) => instance.stop())));
  for (const [i, instance] of all.entries())
    started.push(await startInstance(instance, ports[i] ?? 0, options));
  for (const one of started) await awaitReady(one, { timeoutMs: READY_WITHIN_MS });
  return started;
};
