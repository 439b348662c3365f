import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Git } from '../../../adapters/git/git.ts';
import { GitError } from '../../../adapters/git/git-error.ts';
import { type StageTools, WORKTREES } from '../../stage.ts';
import { keepOutOfStatus } from '../../worktree/prepare.ts';

/** As git says it of an option that it does not know. */
const USAGE = 129;
const CONFLICT = 1;

/** Takes away a worktree of ours, also what is left of one that was never finished, and also when the step is called off. */
export const removeWorktree = async (tools: StageTools, name: string): Promise<void> => {
  const git = tools.git(tools.repository.root, { anyway: true });
  const place = await tools.repository.inside(`${WORKTREES}/${name}`);
  if ((await git.worktreeList()).some(({ path }) => path === place)) await git.worktreeRemove(place);
  await rm(place, { recursive: true, force: true });
  await git.worktreePrune();
};

/** A worktree at a commit, on no branch. What was left at the place is taken away first. */
export const freshWorktree = async (tools: StageTools, name: string, commit: string): Promise<Git> => {
  await removeWorktree(tools, name);
  await keepOutOfStatus(tools.repository);
  const place = await tools.repository.inside(`${WORKTREES}/${name}`);
  await mkdir(dirname(place), { recursive: true });
  await tools.git(tools.repository.root).worktreeAdd(place, { commit });
  return tools.git(place);
};

/** What is in conflict in a work tree. */
export const unmergedIn = async (git: Git): Promise<readonly string[]> => [
  ...new Set(
    (await git.list(['ls-files', '-z', '--unmerged'])).map((entry) => entry.slice(entry.indexOf('\t') + 1)),
  ),
];

/** Merges a commit into a work tree, without a commit; whether it went without a conflict. */
export const mergeInto = async (git: Git, commit: string, label: string): Promise<boolean> => {
  // No configuration of the repository's decides how a merge is made.
  const argv = ['merge', '--no-commit', '--no-ff', '--no-stat', '--no-verify', '--strategy=ort'];
  const { exitCode } = await git.run([...argv, `--into-name=${label}`, commit], { answers: [0, CONFLICT] });
  return exitCode === 0;
};

type MergedTree = { readonly tree: string; readonly conflicts: readonly string[] };

/** For a git that cannot merge without a work tree. */
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

/** What merging one commit into another gives. Of a conflict only the paths count. */
export const mergeCommits = async (tools: StageTools, ours: string, theirs: string): Promise<MergedTree> => {
  try {
    return await tools.git(tools.repository.root).mergeTree(ours, theirs);
  } catch (error) {
    if (error instanceof GitError && error.exitCode === USAGE) return mergeInWorktree(tools, ours, theirs);
    throw error;
  }
};
