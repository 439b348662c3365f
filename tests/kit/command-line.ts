import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { layout } from '@holdpoint/infra/credentials/layout';
import { root } from '@holdpoint/infra/local/folders';
import type { System } from './stack/system.ts';

export type Output = { readonly code: number; readonly out: string; readonly err: string };

const ENDS_WITHIN_MS = 120_000;

/** `holdpoint` as a user runs it. */
export const commandLine = (
  { nats, run, folder }: System,
  endsWithinMs = ENDS_WITHIN_MS,
  more: NodeJS.ProcessEnv = {},
): ((...args: readonly string[]) => Promise<Output>) => {
  const files = layout(run.credentialsDir);
  const env = {
    PATH: process.env['PATH'],
    // Loading the program is the main cost of a command, so it is loaded once.
    NODE_COMPILE_CACHE: join(run.folder, 'compile-cache'),
    HOLDPOINT_NATS_URL: nats.url,
    HOLDPOINT_NATS_SEED_FILE: files.natsSeed('operator'),
    HOLDPOINT_TOKEN_FILE: files.operatorToken,
    ...more,
  };
  const main = join(root, 'infra', 'release', 'holdpoint.ts');
  return (...args) =>
    new Promise((resolve, reject) => {
      const options = { env, cwd: folder, timeout: endsWithinMs };
      const child = execFile(process.execPath, [main, ...args], options, (error, out, err) => {
        if (error?.killed === true)
          reject(new Error(`holdpoint ${args.join(' ')} does not end`, { cause: error }));
        else resolve({ code: child.exitCode ?? -1, out, err });
      });
    });
};
