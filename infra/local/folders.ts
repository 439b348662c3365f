import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(import.meta.url);
/** The clone, or the compiled files of the package. */
export const root = dirname(dirname(dirname(here)));
/** The package has compiled files instead of sources. */
export const isPackage = here.endsWith('.js');
/** How the user types the command line. */
export const command = isPackage ? 'npx holdpoint' : 'npm run --silent holdpoint --';
/** The file that runs for a source file, such as `services/executor/src/main.ts`. */
export const programFile = (from: string, source: string): string =>
  join(from, isPackage ? source.replace(/\.ts$/, '.js') : source);
/** Where a start keeps everything: `HOLDPOINT_DATA`, by default inside the clone or the folder of the user. */
export const dataDirOf = (env: NodeJS.ProcessEnv): string =>
  resolve(env['HOLDPOINT_DATA'] ?? join(isPackage ? process.cwd() : root, '.holdpoint', 'data'));
/** Its own, so that the demo neither needs nor disturbs what `npm start` keeps. */
export const demoDirOf = (env: NodeJS.ProcessEnv): string => join(dataDirOf(env), 'demo');
