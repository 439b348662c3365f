import { readFile, realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { StepInput } from '@holdpoint/contracts/task/step';
import { z } from 'zod';
import type { Git } from '../../../adapters/git/git.ts';
import { isBranchName, isCommitId } from '../../../adapters/git/ref-name.ts';
import { checkWorktree, invalid, refusedWorktree, type StageTools, WORKTREES } from '../../stage.ts';
import { refused } from '../integrate/target.ts';

export const RollbackArgs = z.object({
  commit: z.string().refine(isCommitId, 'expected the full id of a commit'),
  /** Relative to the repository; without one it is the checkout that everybody shares. */
  worktree: z.string().min(1).max(1_024).optional(),
  branch: z.string().max(256).optional(),
  /** Nobody was asked: it is done in a task's own worktree, or not at all. */
  isolated: z.boolean(),
  /** Under which name what was there is kept. */
  saved: z.string().refine(isBranchName, 'expected a name that git accepts for a ref'),
});
export type RollbackArgs = z.infer<typeof RollbackArgs>;

export type RollbackPlace = {
  readonly args: RollbackArgs;
  readonly git: Git;
  readonly head: string;
  readonly branch: string | undefined;
};

const argsOf = (input: StepInput): RollbackArgs => {
  const { success, data, error } = RollbackArgs.safeParse(input.with);
  if (success) return data;
  throw invalid(error.issues.map(({ path, message }) => `with.${path.join('.')}: ${message}`).join('; '));
};

/**
 * Whoever works in a worktree can write there which repository it belongs to. Nobody was asked about any other than this one, so
 * that git's own folder has to say the same.
 */
const checkLinked = async (git: Git, { repository }: StageTools, worktree: string): Promise<void> => {
  const own = await realpath(await git.text(['rev-parse', '--absolute-git-dir']));
  const back = await readFile(join(own, 'gitdir'), 'utf8').catch(() => '');
  const isLinked =
    dirname(own) === join(repository.commonDir, 'worktrees') &&
    resolve(own, back.trimEnd()) === join(git.root, '.git');
  const top = await git.text(['rev-parse', '--path-format=absolute', '--show-toplevel']);
  if (!isLinked || (await realpath(top)) !== git.root)
    throw refusedWorktree(worktree, 'is not what git knows as a worktree of that place');
};

const folderOf = async ({ worktree, isolated }: RollbackArgs, tools: StageTools): Promise<string> => {
  const { repository } = tools;
  if (worktree === undefined) {
    if (isolated) throw refusedWorktree('', 'is not named, and nobody was asked about the shared checkout');
    return repository.root;
  }
  const root = await repository.inside(worktree);
  if (isolated && dirname(root) !== join(repository.root, WORKTREES))
    throw refusedWorktree(worktree, `is not one of those in ${WORKTREES}`);
  await checkWorktree(tools, repository, root);
  if (root !== repository.root) await checkLinked(tools.git(root), tools, worktree);
  return root;
};

/** Where it is to be done, and how it stands there. Throws `CleanFailure` for anything but what is named. */
export const rollbackPlace = async (input: StepInput, tools: StageTools): Promise<RollbackPlace> => {
  const args = argsOf(input);
  if (args.isolated && args.branch === undefined)
    throw invalid('with.branch: missing, expected the branch of the worktree');
  const git = tools.git(await folderOf(args, tools));
  const { commit: head, branch } = await git.head();
  const where = args.worktree ?? 'the checkout';
  if (args.branch !== undefined && args.branch !== branch)
    throw refused(
      `${where} is ${branch === undefined ? 'on no branch' : `on ${branch}`}, expected ${args.branch}`,
    );
  if (head === undefined) throw refused(`${where} has no commit yet`);
  return { args, git, head, branch };
};

/** Why it cannot go back there, for people. */
export const whyNot = async ({ args: { commit }, git, head }: RollbackPlace): Promise<string | undefined> => {
  if ((await git.commitOf(commit)) === undefined) return `there is no commit ${commit}`;
  if (await git.isAncestor(commit, head)) return undefined;
  return `${commit} is not among the commits that lead to ${head}: that would not be going back`;
};
