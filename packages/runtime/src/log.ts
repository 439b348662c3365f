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
