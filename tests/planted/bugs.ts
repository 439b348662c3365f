import type { Bug } from './bug.ts';
import { REMOTE_BUGS } from './bugs-remote.ts';
import { RUNTIME_BUGS } from './bugs-runtime.ts';
import { SERVICE_BUGS } from './bugs-services.ts';
import { SURFACE_BUGS } from './bugs-surfaces.ts';

/** Plausible mistakes in the real source, each with the tests that have to fail because of it. */
export const BUGS: readonly Bug[] = [...RUNTIME_BUGS, ...SERVICE_BUGS, ...REMOTE_BUGS, ...SURFACE_BUGS];
