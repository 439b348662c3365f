import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { poll } from '../poll.ts';
import { ask, OK } from './ask.ts';
import { Problem } from '../problem.ts';
import type { Registry } from './leftovers.ts';
import { processEnvironment, serviceCommand } from './services.ts';
import type { ServiceContext } from './services.ts';
import { supervise } from './supervisor.ts';
import type { Supervised, SupervisorOptions } from './supervisor.ts';
import { lastReason } from './tail.ts';

export type ServiceProcess = Supervised & {
  /** The services that it runs. */
  readonly services: readonly ServiceName[];
  readonly url: string;
  readonly isReady: () => Promise<boolean>;
};

export type ServiceProcessOptions = Pick<SupervisorOptions, 'say' | 'onExit'> & {
  readonly name: string;
  readonly services: readonly ServiceName[];
  readonly context: ServiceContext;
  /** The folder of the stack. */
  readonly folder: string;
  /** The environment of the starter, and more variables for this process. */
  readonly inherited: NodeJS.ProcessEnv;
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  readonly registry: Registry;
  /** Prefers little memory over throughput. */
  readonly isSmall?: boolean;
};

/** A process that ends more often before it is ready ends the start. */
const RESTARTS_MAX = 3;

/** Whether a service answers that it is ready. */
export const isReadyAt = async (url: string): Promise<boolean> => {
  try {
    return (await ask(`${url}/readyz`)).status === OK;
  } catch {
    return false; // it starts, or it is paused
  }
};

/** Starts services as a supervised process, which the next start finds if this one is killed. */
export const startServiceProcess = async (options: ServiceProcessOptions): Promise<ServiceProcess> => {
  const { name, services, context, folder, inherited, env, logFile, registry, isSmall, ...hooks } = options;
  const command = serviceCommand(context.root, services, folder, isSmall);
  const supervised = await supervise(
    {
      name,
      logFile,
      ...command,
      env: { ...command.env, ...processEnvironment(services, context, inherited), ...env },
    },
    { ...hooks, onStart: ({ pid }) => registry.add({ name, pid, marker: folder }) },
  );
  const url = `http://127.0.0.1:${context.httpPort}`;
  return { ...supervised, services, url, isReady: () => isReadyAt(url) };
};

/** Waits until a service is ready, or until the caller stops. Throws if the supervisor gives it up, or if it ends again and again. */
export const awaitReady = async (
  {
    name,
    logFile,
    failure,
    restarts,
    isReady,
  }: Pick<ServiceProcess, 'name' | 'logFile' | 'failure' | 'restarts' | 'isReady'>,
  { timeoutMs, stopping = () => false }: { readonly timeoutMs: number; readonly stopping?: () => boolean },
): Promise<void> => {
  const before = restarts();
  const ready = async () => {
    if (stopping()) return 'stopping';
    if (failure() !== undefined) return 'failed';
    if (restarts() - before > RESTARTS_MAX) return 'ended';
    return (await isReady()) ? 'ready' : undefined;
  };
  const answer = await poll(ready, { timeoutMs, what: `${name} is not ready, see ${logFile}` });
  if (answer === 'failed') throw new Problem(failure() ?? `${name} failed`);
  if (answer === 'ended')
    throw new Problem(`${name} ends again and again, see ${logFile}: ${await lastReason(logFile)}`);
};
