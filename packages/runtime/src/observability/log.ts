import { pino, type Logger as Pino } from 'pino';
import { logContextFields } from './log-context.ts';

export type Logger = Pick<Pino, 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'child'>;

/** JSON lines on standard output. Lines about a task have its id as `task`, and that of its trace as `trace_id`. */
export const createLogger = (service: string, instance: string, level: string): Logger =>
  pino({
    // The log is there before the configuration is checked: that check, not this one, complains of a wrong level.
    level: level === 'silent' || Object.hasOwn(pino.levels.values, level) ? level : 'info',
    base: { service, instance },
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: logContextFields,
  });

/** For tests that look at something else. */
export const silentLogger = (): Logger => pino({ level: 'silent' });
