import { flushCompileCache } from 'node:module';
import { CORE_SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { ConfigError, EXIT_CONFIG } from '@holdpoint/contracts/values/settings';
import { readEnv, ServiceEnv } from './config.ts';
import { instanceName } from './instance.ts';
import { errorFields } from '../engine/error-fields.ts';
import { createLogger, type Logger } from '../observability/log.ts';
import { type RunningServices, startServices } from './run-services.ts';
import type { ServiceDefinition } from './service.ts';
import { readTracing, startTracing, type Tracing } from './tracing.ts';

/** A stop that takes longer hangs: the process then exits with an error. */
export const STOP_DEADLINE_MS = 15_000;

/** Before the first message, so that it is traced as well. */
const traceInto = async (
  service: string,
  env: NodeJS.ProcessEnv,
  log: Logger,
): Promise<Tracing | undefined> => {
  const settings = readTracing(env);
  return settings && (await startTracing(settings, { service, instance: instanceName(service) }, log));
};

export type Define = (env: NodeJS.ProcessEnv, log: Logger) => ServiceDefinition | Promise<ServiceDefinition>;

/** Stands for the name of a service in the settings of a process that runs several. */
const PLACEHOLDER = '{service}';

/** The settings of one service: several services of a process have them in common, but for the parts that name the service. */
export const settingsOf = (env: NodeJS.ProcessEnv, name: string): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(env).map(([setting, value]) => [
      setting,
      setting.startsWith('HOLDPOINT_') ? value?.replaceAll(PLACEHOLDER, name) : value,
    ]),
  );

/** The services of a process, by name. */
export type Defines = { readonly [Service in ServiceName]?: Define };

const start = async (defines: Defines, env: NodeJS.ProcessEnv): Promise<RunningServices> => {
  const definitions: ServiceDefinition[] = [];
  for (const [service, define] of Object.entries(defines)) {
    const settings = settingsOf(env, service);
    const log = createLogger(service, instanceName(service), settings['HOLDPOINT_LOG_LEVEL'] ?? 'info');
    definitions.push(await define(settings, log));
  }
  const hasCore = CORE_SERVICES.every((service) => service in defines);
  return startServices(definitions, hasCore ? readEnv(ServiceEnv, settingsOf(env, 'core')) : undefined);
};

/**
 * Runs services as this process. Stops on SIGTERM and SIGINT, exits with 78 on a wrong setting, and exits at
 * once on an unhandled error, because the state is then unknown.
 */
export const runProcess = async (defines: Defines, env: NodeJS.ProcessEnv): Promise<void> => {
  const name = Object.keys(defines).join(',');
  const log = createLogger(name, instanceName(name), env['HOLDPOINT_LOG_LEVEL'] ?? 'info');
  const die = (error: unknown): never => {
    if (error instanceof ConfigError) {
      process.stderr.write(`${name}: ${error.message}\n`);
      process.exit(EXIT_CONFIG);
    }
    log.fatal(errorFields(error), 'service ends');
    process.exit(1);
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);
  // Until the service has started there is nothing to finish.
  let stop = (): void => process.exit(0);
  process.once('SIGTERM', () => stop());
  process.once('SIGINT', () => stop());
  const tracing = await traceInto(name, env, log).catch(die);
  const running = await start(defines, env).catch(die);
  // A process that is killed leaves compiled code too, where `NODE_COMPILE_CACHE` names a folder for it.
  flushCompileCache();
  stop = () => {
    setTimeout(() => process.exit(1), STOP_DEADLINE_MS).unref();
    void running
      .stop()
      .then(() => tracing?.stop())
      .then(() => process.exit(0), die);
  };
};
