import { hostname } from 'node:os';
import { ConfigError, EXIT_CONFIG } from './config.ts';
import { errorFields } from './error-fields.ts';
import { createLogger, type Logger } from './log.ts';
import type { RunningService } from './service.ts';

/** A stop that takes longer than this has hung; the process ends all the same, and with an error. */
export const STOP_DEADLINE_MS = 15_000;

/** One process among all of them: containers all have the same few process ids. */
export const instanceName = (service: string): string => `${service}-${hostname()}-${String(process.pid)}`;

/**
 * Runs a service as this process: stops on SIGTERM and SIGINT, ends with 78 on a wrong setting, and ends at once on an
 * error that nobody handled, because its state is then unknown.
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
  // Until the service has started it has taken nothing, so there is nothing to finish.
  let stop = (): void => process.exit(0);
  process.once('SIGTERM', () => stop());
  process.once('SIGINT', () => stop());
  const running = await start(env, log).catch(die);
  stop = () => {
    setTimeout(() => process.exit(1), STOP_DEADLINE_MS).unref();
    void running.stop().then(() => process.exit(0), die);
  };
};
