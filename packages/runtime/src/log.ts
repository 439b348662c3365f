import { pino, type Logger as Pino } from 'pino';

export type Logger = Pick<Pino, 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'child'>;

/** JSON lines on standard output. `task` and `trace` are bound by whoever logs about one message. */
export const createLogger = (service: string, instance: string, level: string): Logger =>
  pino({
    // The log is there before the configuration is checked: that check, not this one, complains of a wrong level.
    level: level === 'silent' || Object.hasOwn(pino.levels.values, level) ? level : 'info',
    base: { service, instance },
    timestamp: pino.stdTimeFunctions.isoTime,
  });

/** For tests that look at something else. */
export const silentLogger = (): Logger => pino({ level: 'silent' });

type ErrorFields = {
  readonly error: string;
  readonly code?: string;
  readonly reason?: string;
  readonly stack?: string;
};

/**
 * What of an error goes into a log: class, code, text and the head of the stack. The text of an error of the database is
 * left out, because it may carry the values of a statement.
 */
export const errorFields = (error: unknown): ErrorFields => {
  if (!(error instanceof Error)) return { error: typeof error };
  const fromDatabase = 'severity' in error;
  return {
    error: error.name,
    ...('code' in error && { code: String(error.code) }),
    ...(!fromDatabase && { reason: error.message }),
    ...(error.stack !== undefined && { stack: error.stack.split('\n').slice(1, 4).join('\n') }),
    ...(error.cause instanceof Error && { cause: errorFields(error.cause) }),
  };
};
