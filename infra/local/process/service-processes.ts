import type { ServiceName } from '../../credentials/layout.ts';
import type { Registry } from './leftovers.ts';
import { poll } from '../poll.ts';
import type { Ports } from '../ports.ts';
import { Problem } from '../problem.ts';
import type { Progress } from '../progress.ts';
import { mainFile, serviceEnvironment } from './services.ts';
import type { ServiceContext } from './services.ts';
import { supervise } from './supervisor.ts';
import type { Supervised } from './supervisor.ts';

export type ServiceProcess = Supervised<ServiceName>;
export type ServiceProcesses = Readonly<Partial<Record<ServiceName, ServiceProcess>>>;

export type ServicesOptions = {
  readonly names: readonly ServiceName[];
  readonly context: Omit<ServiceContext, 'httpPort'>;
  readonly ports: Ports;
  readonly env: Partial<Record<ServiceName, Readonly<Record<string, string>>>>;
  readonly logFile: (name: string) => string;
  readonly registry: Registry;
  readonly progress: Progress;
  /** Whether to leave off waiting. */
  readonly stopping: () => boolean;
  /** Hears of each one as soon as there is something to stop. */
  readonly onStarted: (service: ServiceProcess) => void;
};

const READY_WITHIN_MS = 60_000;
const ANSWER_WITHIN_MS = 2_000;

export const serviceUrl = (port: number): string => `http://127.0.0.1:${port}`;

const launch = (name: ServiceName, options: ServicesOptions): Promise<ServiceProcess> => {
  const { context, ports, env, logFile, registry, progress } = options;
  const main = mainFile(context.root, name);
  const environment = serviceEnvironment(name, { ...context, httpPort: ports[name] }, process.env);
  const spec = { name, command: process.execPath, args: [main], logFile: logFile(name), cwd: context.root };
  return supervise(
    { ...spec, env: { ...environment, ...env[name] } },
    { say: progress.say, onStart: ({ pid }) => registry.add({ name, pid, marker: main }) },
  );
};

const awaitReady = async (service: ServiceProcess, { ports, stopping }: ServicesOptions): Promise<void> => {
  const answer = await poll(
    async () => {
      if (stopping()) return 'stopping';
      if (service.failure() !== undefined) return 'failed';
      const url = `${serviceUrl(ports[service.name])}/readyz`;
      const { ok } = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
      return ok ? 'ready' : undefined;
    },
    { timeoutMs: READY_WITHIN_MS, what: `${service.name} is not ready, see ${service.logFile}` },
  );
  if (answer === 'failed') throw new Problem(service.failure() ?? `${service.name} failed`);
};

/** Starts the services and waits until each says that it is ready. */
export const startServices = async (options: ServicesOptions): Promise<ServiceProcesses> => {
  const started: Partial<Record<ServiceName, ServiceProcess>> = {};
  for (const name of options.names) {
    const service = await launch(name, options);
    started[name] = service;
    options.onStarted(service);
  }
  await options.progress.step('starting the services', () =>
    Promise.all(Object.values(started).map((service) => awaitReady(service, options))),
  );
  return started;
};
