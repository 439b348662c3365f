import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** Where a start keeps everything: `HOLDPOINT_DATA`, by default inside the clone. */
export const dataDirOf = (env: NodeJS.ProcessEnv): string =>
  resolve(env['HOLDPOINT_DATA'] ?? join(root, '.holdpoint', 'data'));
/** Its own, so that the demo neither needs nor disturbs what `npm start` keeps. */
export const demoDirOf = (env: NodeJS.ProcessEnv): string => join(dataDirOf(env), 'demo');
