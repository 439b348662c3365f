import { join } from 'node:path';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { Child } from '@holdpoint/infra/local/process/child';
import { poll } from '@holdpoint/infra/local/poll';
import { choosePorts } from '@holdpoint/infra/local/ports';
import { mainFile, serviceEnvironment } from '@holdpoint/infra/local/process/services';
import { supervise } from '@holdpoint/infra/local/process/supervisor';
import { type FaultProxy, startFaultProxy } from '../fault-proxy.ts';
import type { Ended, Instance, Upstream } from './deployment.ts';

const REPLICAS = 2;
const READY_WITHIN_MS = 90_000;
const ANSWER_WITHIN_MS = 2_000;

export type LocalInstance = Instance & {
  readonly links: Readonly<Record<Upstream, FaultProxy>>;
  readonly url: string;
  readonly logFile: string;
  readonly pid: () => number;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Ends the process; the exit counts as caused. */
  readonly end: (signal: NodeJS.Signals) => void;
  readonly isReady: () => Promise<boolean>;
  readonly restart: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

export type InstancesOptions = {
  readonly root: string;
  readonly folder: string;
  readonly credentialsDir: string;
  readonly workspace: string;
  readonly natsPort: number;
  readonly postgresPort: number;
  readonly database: string;
  /** The environment for the services. */
  readonly env: NodeJS.ProcessEnv;
  readonly serviceEnv: Readonly<Record<string, string>>;
  readonly onStart: (name: string, child: Child) => Promise<void>;
  readonly onEnded: (ended: Ended) => void;
  readonly say: (line: string) => void;
};

/** A health port for each instance. */
const healthPorts = async (count: number): Promise<readonly number[]> => {
  const ports = new Set<number>();
  while (ports.size < count) ports.add((await choosePorts()).orchestrator);
  return [...ports];
};

const isReady = async (url: string): Promise<boolean> => {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false; // it is being started again, or is paused
  }
};

const startInstance = async (
  { name, service }: Instance,
  httpPort: number,
  options: InstancesOptions,
): Promise<LocalInstance> => {
  const { root, folder, credentialsDir, workspace, database, onEnded } = options;
  const links = {
    nats: await startFaultProxy('127.0.0.1', options.natsPort),
    postgres: await startFaultProxy('127.0.0.1', options.postgresPort),
  };
  const context = {
    root,
    natsUrl: `nats://${links.nats.host}:${String(links.nats.port)}`,
    database: { host: links.postgres.host, port: links.postgres.port, name: database },
    credentialsDir,
    workspace,
    httpPort,
  };
  const env = { ...serviceEnvironment(service, context, options.env), ...options.serviceEnv };
  const wanted = new Set<number>();
  const logFile = join(folder, 'logs', `${name}.log`);
  const spec = {
    name,
    command: process.execPath,
    args: [mainFile(root, service), folder],
    logFile,
    cwd: root,
    env,
  };
  const supervised = await supervise(spec, {
    // The fault reports the restart.
    say: () => undefined,
    onStart: (child) => options.onStart(name, child),
    onExit: (child, { code, signal }) => {
      const how = signal === null ? `code ${String(code)}` : signal;
      onEnded({ name, at: new Date().toISOString(), how, caused: wanted.has(child.pid) });
    },
  });
  const url = `http://127.0.0.1:${String(httpPort)}`;
  const end = (signal: NodeJS.Signals): void => {
    wanted.add(supervised.pid());
    supervised.signal(signal);
  };
  return {
    name,
    service,
    links,
    url,
    logFile,
    pid: supervised.pid,
    signal: supervised.signal,
    end,
    isReady: () => isReady(url),
    restart: async () => {
      const before = supervised.pid();
      end('SIGTERM');
      const again = async () => (supervised.pid() !== before && (await isReady(url)) ? true : undefined);
      await poll(again, { timeoutMs: READY_WITHIN_MS, what: `${name} is ready again` });
    },
    stop: async () => {
      wanted.add(supervised.pid());
      supervised.signal('SIGCONT');
      await supervised.stop();
      await Promise.all(Object.values(links).map((link) => link.close()));
    },
  };
};

/** Two instances of each service, each with its own proxy to NATS and to PostgreSQL. */
export const startInstances = async (
  options: InstancesOptions,
  onStarted: (instance: LocalInstance) => void,
): Promise<readonly LocalInstance[]> => {
  const all = SERVICES.flatMap((service) =>
    Array.from({ length: REPLICAS }, (_, i): Instance => ({ name: `${service}-${String(i + 1)}`, service })),
  );
  const ports = await healthPorts(all.length);
  const started: LocalInstance[] = [];
  for (const [i, instance] of all.entries()) {
    const one = await startInstance(instance, ports[i] ?? 0, options);
    onStarted(one);
    started.push(one);
  }
  for (const one of started) {
    const ready = async () => ((await one.isReady()) ? true : undefined);
    await poll(ready, { timeoutMs: READY_WITHIN_MS, what: `${one.name} is not ready, see ${one.logFile}` });
  }
  return started;
};
