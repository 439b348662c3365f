import { realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { systemCode, WorkflowFileError } from './file-error.ts';

/** A repository on this machine: its top folder with symbolic links resolved. */
export type Repository = { readonly root: string };

/** A folder in the main checkout, a file in a linked worktree or submodule. */
const hasGit = (folder: string): boolean => {
  const found = statSync(join(folder, '.git'), { throwIfNoEntry: false });
  return found !== undefined && (found.isDirectory() || found.isFile());
};

const rootAbove = (folder: string): string | undefined => {
  if (hasGit(folder)) return folder;
  const above = dirname(folder);
  return above === folder ? undefined : rootAbove(above);
};

/** Finds the repository around a folder. Does not run git, so git configuration cannot influence it. */
export const openRepository = (cwd: string): Repository => {
  let root: string | undefined;
  try {
    root = rootAbove(realpathSync(resolve(cwd)));
  } catch (cause) {
    const why = systemCode(cause) ?? 'an error';
    throw new WorkflowFileError('WORKFLOW_NO_REPOSITORY', cwd, `an unreadable folder (${why})`, {
      cause,
    });
  }
  if (root === undefined)
    throw new WorkflowFileError('WORKFLOW_NO_REPOSITORY', cwd, 'no .git here or in any folder above');
  return { root };
};
