import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, readdir, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { promisify } from 'node:util';

const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;
/** Caches of the test runner: the copy needs its own. */
const CACHES: ReadonlySet<string> = new Set(['.vite', '.vite-temp', '.vitest-cache', '.cache']);

/** Every tracked or untracked file in its present state. */
const filesOf = async (root: string): Promise<readonly string[]> => {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await promisify(execFile)('git', args, { cwd: root, maxBuffer: OUTPUT_MAX_BYTES });
  return [...new Set(stdout.split('\0').filter((path) => path !== ''))];
};

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;

const copyOne = async (from: string, to: string): Promise<void> => {
  await mkdir(dirname(to), { recursive: true });
  try {
    await copyFile(from, to);
  } catch (error) {
    // Tracked and deleted since.
    if (codeOf(error) !== 'ENOENT') throw error;
  }
};

/** Shares the installation, except for links to workspace packages, which must lead into the copy. */
const linkModules = async (root: string, copy: string): Promise<readonly string[]> => {
  await mkdir(join(copy, 'node_modules'));
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (!CACHES.has(name)) await symlink(join(root, 'node_modules', name), join(copy, 'node_modules', name));
  }
  const groups = await Promise.all(
    ['packages', 'services'].map(async (group) =>
      (await readdir(join(root, group))).map((name) => join(group, name)),
    ),
  );
  const installed: string[] = [];
  for (const folder of ['infra', 'tests', ...groups.flat()]) {
    const modules = join(folder, 'node_modules');
    try {
      // Relative links lead from the copy into the copy.
      await cp(join(root, modules), join(copy, modules), { recursive: true, verbatimSymlinks: true });
      installed.push(modules);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }
  return installed;
};

/** Fails when a workspace package resolves outside the copy: the bug would not run. */
const requireOwnPackages = async (copy: string, installed: readonly string[]): Promise<void> => {
  let own = 0;
  for (const modules of installed) {
    const scope = join(copy, modules, '@holdpoint');
    for (const name of await readdir(scope).catch((): string[] => [])) {
      const target = await realpath(join(scope, name));
      if (!target.startsWith(copy + sep))
        throw new Error(`${scope}/${name} leads out of the copy, to ${target}`);
      own += 1;
    }
  }
  if (own === 0) throw new Error('the copy has none of its own packages: is the workspace installed?');
};

export type Copy = { readonly folder: string; readonly remove: () => Promise<void> };

/** A copy of the working tree that runs by itself. The tree is only read. */
export const copyTree = async (root: string): Promise<Copy> => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'holdpoint-planted-')));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 10 });
  try {
    for (const path of await filesOf(root)) await copyOne(join(root, path), join(folder, path));
    await requireOwnPackages(folder, await linkModules(root, folder));
    return { folder, remove };
  } catch (error) {
    await remove();
    throw error;
  }
};
