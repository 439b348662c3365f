import { AsyncLocalStorage } from 'node:async_hooks';
import type { LogContext } from '../engine/core.ts';

const current = new AsyncLocalStorage<LogContext>();

/** Whatever is logged by the step, and by what it begins, says what it is about. */
export const withLogContext = <R>(about: LogContext, step: () => R): R => current.run(about, step);

/** For every line of a log. */
export const logContextFields = (): LogContext => current.getStore() ?? {};
