import { AsyncLocalStorage } from 'node:async_hooks';
import type { LogContext } from '../engine/core.ts';

const current = new AsyncLocalStorage<LogContext>();

/** Log lines of the step, and of the asynchronous work that it starts, carry this context. */
export const withLogContext = <R>(about: LogContext, step: () => R): R => current.run(about, step);

/** The current context, added to every log line. */
export const logContextFields = (): LogContext => current.getStore() ?? {};
