import { AsyncLocalStorage } from 'node:async_hooks';
import type { About } from '../engine/core.ts';

const current = new AsyncLocalStorage<About>();

/** Whatever is logged by the step, and by what it begins, says what it is about. */
export const withAbout = <R>(about: About, step: () => R): R => current.run(about, step);

/** For every line of a log. */
export const aboutFields = (): About => current.getStore() ?? {};
