import { execFile, execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { root as project } from '@holdpoint/infra/local/folders';
import type { Output } from '../../kit/command-line.ts';
import { currentRun } from '../../kit/stack/run.ts';

/** A git repository on a machine without a running Holdpoint: commands that need a service fail. */
export type Checkout = {
  readonly holdpoint: (...words: readonly string[]) => Promise<Output>;
  readonly link: (file: string, to: string) => void;
  /** All files and folders with their contents, including those of git. */
  readonly everything: () => Readonly<Record<string, string>>;
};

const ENDS_WITHIN_MS = 60_000;

const contentOf = (path: string, entry: { isDirectory(): boolean; isSymbolicLink(): boolean }): string => {
  if (entry.isDirectory()) return 'a folder';
  return entry.isSymbolicLink() ? `-> ${readlinkSync(path)}` : readFileSync(path, 'utf8');
};

export const createCheckout = (files: Readonly<Record<string, string>>): Checkout => {
  const root = mkdtempSync(join(currentRun().folder, 'checkout-'));
  const main = join(project, 'packages', 'cli', 'src', 'main.ts');
  const env = {
    PATH: process.env['PATH'],
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    NODE_COMPILE_CACHE: join(currentRun().folder, 'compile-cache'),
  };
  const placeFor = (file: string): string => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    return join(root, file);
  };
  execFileSync('git', ['init', '--quiet', '--initial-branch=main'], { cwd: root, env });
  for (const [file, text] of Object.entries(files)) writeFileSync(placeFor(file), text);
  return {
    link: (file, to) => symlinkSync(to, placeFor(file)),
    everything: () =>
      Object.fromEntries(
        readdirSync(root, { recursive: true, withFileTypes: true }).map((entry) => {
          const path = join(entry.parentPath, entry.name);
          return [path, contentOf(path, entry)];
        }),
      ),
    holdpoint: (...words) =>
      new Promise((resolve, reject) => {
        const options = { cwd: root, env, timeout: ENDS_WITHIN_MS };
        const child = execFile(process.execPath, [main, ...words], options, (error, out, err) => {
          if (error?.killed === true) reject(new Error(`holdpoint ${words.join(' ')} does not end`));
          else resolve({ code: child.exitCode ?? -1, out, err });
        });
      }),
  };
};
