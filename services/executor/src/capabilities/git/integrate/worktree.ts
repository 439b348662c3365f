import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Git } from '../../../adapters/git/git.ts';
import { GitError } from '../../../adapters/git/git-error.ts';
import type { StageTools } from '../../stage/tools.ts';
import { WORKTREES } from '../../stage/worktree.ts';
import { keepOutOfStatus } from '../../worktree/prepare.ts';

/** The exit code of git for an unknown option. */
const USAGE = 129;
const CONFLICT = 1;

/** Removes a temporary worktree, also an unfinished one, and also after the step was cancelled. */
export const removeWorktree = async (tools: StageTools, name: string): Promise<void> => {
  const git = tools.git(tools.repository.root, { anyway: true });
  const place = await tools.repository.inside(`${WORKTREES}/${name}`);
  if ((await git.worktreeList()).some(({ path }) => path === place)) await git.worktreeRemove(place);
  await rm(place, { recursive: true, force: true });
  await git.worktreePrune();
};

/** Creates a detached worktree at a commit. Leftovers at the path are removed first. */
export const freshWorktree = async (tools: StageTools, name: string, commit: string): Promise<Git> => {
  await removeWorktree(tools, name);
  await keepOutOfStatus(tools.repository);
  const place = await tools.repository.inside(`${WORKTREES}/${name}`);
  await mkdir(dirname(place), { recursive: true });
  await tools.git(tools.repository.root).worktreeAdd(place, { commit });
  return tools.git(place);
};

/** The conflicting files of a work tree. */
export const unmergedIn = async (git: Git): Promise<readonly string[]> => [
  ...new Set(
    (await git.list(['ls-files', '-z', '--unmerged'])).map((entry) => entry.slice(entry.indexOf('\t') + 1)),
  ),
];

/** Merges a commit into a work tree, without committing. False on a conflict. */
export const mergeInto = async (git: Git, commit: string, label: string): Promise<boolean> => {
  // Explicit options, so that no repository configuration changes the merge.
  const argv = ['merge', '--no-commit', '--no-ff', '--no-stat', '--no-verify', '--strategy=ort'];
  const { exitCode } = await git.run([...argv, `--into-name=${label}`, commit], { answers: [0, CONFLICT] });
  return exitCode === 0;
};

type MergedTree = { readonly tree: string; readonly conflicts: readonly string[] };

/** For git versions without `merge-tree --write-tree`. */
const mergeInWorktree = async (tools: StageTools, ours: string, theirs: string): Promise<MergedTree> => {
  const name = `merge-${randomUUID()}`;
  try {
    const git = await freshWorktree(tools, name, ours);
    await mergeInto(git, theirs, 'target');
    const conflicts = await unmergedIn(git);
    if (conflicts.length > 0) {
      const stdin = conflicts.map((path) => `${path}\0`).join('');
      await git.run(['update-index', '--force-remove', '-z', '--stdin'], { stdin });
    }
    return { tree: await git.text(['write-tree']), conflicts };
  } finally {
    await removeWorktree(tools, name);
  }
};

/** Merges two commits. Of a conflict only the paths are returned. */
export const mergeCommits = async (tools: StageTools, ours: string, theirs: string): Promise<MergedTree> => {
  try {
    return await tools.git(tools.repository.root).mergeTree(ours, theirs);
  } catch (error) {
    if (error instanceof GitError && error.exitCode === USAGE) return mergeInWorktree(tools, ours, theirs);
    throw error;
  }
};
