import { realpath } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { CleanFailure } from '../../ports/capability.ts';
import { createGitExec } from './exec.ts';
import { GitError } from './git-error.ts';
import type { Environment } from '../process/command-env.ts';
import { followed, isWithin } from '../files/real-path.ts';

/** A repository that this executor may use. */
export type Repository = {
  /** The real path of the top of its work tree. */
  readonly root: string;
  /** The folder of its refs and objects, shared with its worktrees. */
  readonly commonDir: string;
  /**
   * The real path of a relative path in the repository, or in the worktree `base`. Paths that lead out are refused.
   */
  readonly inside: (path: string, base?: string) => Promise<string>;
};

export interface Repositories {
  open(path: string): Promise<Repository>;
}

const notAllowed = (path: string, problem: string): CleanFailure =>
  new CleanFailure(
    errorBody(
      'EXECUTOR_REPOSITORY_NOT_ALLOWED',
      `${path}: ${problem}. Add its folder to HOLDPOINT_REPOSITORIES`,
    ),
  );

const refused = (path: string, problem: string): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_PATH_REFUSED', `${JSON.stringify(path)} ${problem}`));

const insideOf =
  (root: string) =>
  async (path: string, base = root): Promise<string> => {
    if (path.includes('\0') || isAbsolute(path)) throw refused(path, 'is not relative to the repository');
    const parts = path.split(/[/\\]/);
    if (parts.includes('..')) throw refused(path, 'contains ..');
    const [from, there] = await Promise.all([realpath(base), followed(resolve(base, path))]);
    if (there === undefined) throw refused(path, 'contains a dangling link');
    if (!isWithin(root, from) || !isWithin(from, there)) throw refused(path, 'leads out of the repository');
    const inGit = relative(from, there)
      .split(sep)
      .some((part) => part.toLowerCase() === '.git');
    if (inGit) throw refused(path, "leads into git's own folder");
    return there;
  };

/** The top of the work tree and the common folder, as git reports them. */
const gitFoldersOf = async (folder: string, env: Environment): Promise<readonly [string, string]> => {
  try {
    const said = await createGitExec(folder, { env }).text([
      'rev-parse',
      '--path-format=absolute',
      '--show-toplevel',
      '--git-common-dir',
    ]);
    const [top = '', common = ''] = said.split('\n');
    return [await realpath(top), await realpath(common)];
  } catch (error) {
    if (error instanceof GitError)
      throw notAllowed(folder, `is not the top folder of a git work tree (${error.message})`);
    throw error;
  }
};

/** Opens only repositories inside the allowed folders. */
export const createRepositories = (allowed: readonly string[], env: Environment): Repositories => ({
  open: async (path) => {
    if (!isAbsolute(path) || path.includes('\0')) throw notAllowed(path, 'is not an absolute path');
    const folder = await realpath(path).catch(() => undefined);
    if (folder === undefined) throw notAllowed(path, 'does not exist');
    const folders = await Promise.all(allowed.map((one) => realpath(one).catch(() => undefined)));
    const isAllowed = (place: string): boolean =>
      folders.some((one) => one !== undefined && isWithin(one, place));
    if (!isAllowed(folder)) throw notAllowed(path, 'is not inside an allowed folder');
    const [root, commonDir] = await gitFoldersOf(folder, env);
    if (root !== folder) throw notAllowed(path, `is not the top folder of its repository ${root}`);
    if (!isAllowed(commonDir)) throw notAllowed(path, 'belongs to a repository outside the allowed folders');
    return { root, commonDir, inside: insideOf(root) };
  },
});
