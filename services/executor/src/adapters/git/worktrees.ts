import { errorBody } from '@holdpoint/contracts/values/errors';
import { CleanFailure } from '../../ports/capability.ts';
import { createGitExec, type GitExec, type GitParts } from './exec.ts';
import { branchRef, isCommitId } from './ref-name.ts';
import { refuseFilters } from './staging.ts';

export type WorktreeEntry = {
  readonly path: string;
  readonly head: string | undefined;
  readonly branch: string | undefined;
  /** Its folder is gone. */
  readonly prunable: boolean;
};

const entryOf = (fields: readonly string[]): WorktreeEntry => {
  const value = (name: string): string | undefined =>
    fields.find((field) => field.startsWith(`${name} `))?.slice(name.length + 1);
  return {
    path: value('worktree') ?? '',
    head: value('HEAD'),
    branch: value('branch')?.replace(/^refs\/heads\//, ''),
    prunable: fields.some((field) => /^prunable\b/.test(field)),
  };
};

/** Writes the files of a new worktree. Refuses files that need a filter. */
const checkOut = async (path: string, parts: GitParts): Promise<void> => {
  const inside = createGitExec(path, parts);
  await inside.run(['read-tree', 'HEAD']);
  await refuseFilters(inside, await inside.list(['ls-files', '-z', '--cached']), 'index');
  await inside.run(['read-tree', '--reset', '-u', 'HEAD']);
};

export const worktreesOf = (exec: GitExec, parts: GitParts) => ({
  worktreeAdd: async (
    path: string,
    at: { readonly branch: string } | { readonly commit: string },
  ): Promise<void> => {
    if ('commit' in at && !isCommitId(at.commit))
      throw new CleanFailure(
        errorBody('EXECUTOR_INVALID_ARGUMENTS', `${JSON.stringify(at.commit)} is not a commit id`),
      );
    // Validated as a full name; git needs the short name here to attach the worktree to the branch.
    const where =
      'commit' in at ? ['--detach', '--', path, at.commit] : ['--', path, short(branchRef(at.branch))];
    // Forced: the branch may be checked out elsewhere, and a deleted worktree of this path may still be registered.
    await exec.run(['worktree', 'add', '--quiet', '--force', '--force', '--no-checkout', ...where]);
    try {
      await checkOut(path, parts);
    } catch (error) {
      await exec.run(['worktree', 'remove', '--force', '--force', '--', path]);
      throw error;
    }
  },
  worktreeRemove: async (path: string): Promise<void> => {
    await exec.run(['worktree', 'remove', '--force', '--force', '--', path]);
  },
  worktreeList: async (): Promise<readonly WorktreeEntry[]> => {
    const { stdout } = await exec.run(['worktree', 'list', '--porcelain', '-z']);
    return stdout
      .toString('utf8')
      .split('\0\0')
      .filter((entry) => entry !== '')
      .map((entry) => entryOf(entry.split('\0')));
  },
  worktreePrune: async (): Promise<void> => {
    await exec.run(['worktree', 'prune']);
  },
});

const short = (ref: string): string => ref.slice('refs/heads/'.length);
