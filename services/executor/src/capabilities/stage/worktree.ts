import { errorBody } from '@holdpoint/contracts/values/errors';
import { dirname, join } from 'node:path';
import type { Repository } from '../../adapters/git/repositories.ts';
import { CleanFailure } from '../../ports/capability.ts';
import type { StageTools } from './tools.ts';

/** The folder of task worktrees, relative to the repository. */
export const WORKTREES = '.holdpoint/worktrees';

export const refusedWorktree = (worktree: string, problem: string): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_PATH_REFUSED', `worktree ${worktree} ${problem}`));

/** The repository itself, or one of its task worktrees. */
export const executionRoot = async (
  repository: Repository,
  worktree: string | undefined,
): Promise<{ readonly root: string; readonly inWorktree: boolean }> => {
  if (worktree === undefined || worktree === '' || worktree === '.')
    return { root: repository.root, inWorktree: false };
  const root = await repository.inside(worktree);
  if (dirname(root) !== join(repository.root, WORKTREES))
    throw refusedWorktree(worktree, `is not in ${WORKTREES}`);
  return { root, inWorktree: true };
};

/** In a broken worktree git would use the surrounding repository, which is the operator's own checkout. */
export const checkWorktree = async (
  { git }: Pick<StageTools, 'git'>,
  repository: Repository,
  root: string,
): Promise<void> => {
  const found = (await git(repository.root).worktreeList()).find(({ path }) => path === root);
  if (found === undefined || found.prunable) throw refusedWorktree(root, 'does not exist any more');
  const common = await git(root).text(['rev-parse', '--path-format=absolute', '--git-common-dir']);
  if (common !== repository.commonDir) throw refusedWorktree(root, 'belongs to another repository');
};
