import { ConfigError, EXIT_CONFIG } from './config.ts';
import { instanceName } from './instance.ts';
import { errorFields } from '../engine/error-fields.ts';
import { createLogger, type Logger } from '../observability/log.ts';
import type { RunningService } from './service.ts';
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

/**
 * Runs a service as this process. Stops on SIGTERM and SIGINT, exits with 78 on a wrong setting, and exits at
 * once on an unhandled error, because the state is then unknown.
 */
export const runProcess = async (
  service: string,
  env: NodeJS.ProcessEnv,
  start: (env: NodeJS.ProcessEnv, log: Logger) => Promise<RunningService>,
): Promise<void> => {
  const log = createLogger(service, instanceName(service), env['HOLDPOINT_LOG_LEVEL'] ?? 'info');
  const die = (error: unknown): never => {
    if (error instanceof ConfigError) {
      process.stderr.write(`${service}: ${error.message}\n`);
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
  const tracing = await traceInto(service, env, log).catch(die);
  const running = await start(env, log).catch(die);
  stop = () => {
    setTimeout(() => process.exit(1), STOP_DEADLINE_MS).unref();
    void running
      .stop()
      .then(() => tracing?.stop())
      .then(() => process.exit(0), die);
  };
};
