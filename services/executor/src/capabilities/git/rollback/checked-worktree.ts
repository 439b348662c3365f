import { readFile, realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { StepInput } from '@holdpoint/contracts/task/step';
import { z } from 'zod';
import type { Git } from '../../../adapters/git/git.ts';
import { isBranchName, isCommitId } from '../../../adapters/git/ref-name.ts';
import { checkWorktree, refusedWorktree, WORKTREES } from '../../stage/worktree.ts';
import { invalid } from '../../stage/arguments.ts';
import type { StageTools } from '../../stage/tools.ts';
import { refused } from '../integrate/target.ts';

export const RollbackArgs = z.object({
  commit: z.string().refine(isCommitId, 'expected a full commit id'),
  /** Relative to the repository. Left out: the shared checkout. */
  worktree: z.string().min(1).max(1_024).optional(),
  branch: z.string().max(256).optional(),
  /** Not approved: only the task's own worktree may be rolled back. */
  isolated: z.boolean(),
  /** The ref name for the old state. */
  saved: z.string().refine(isBranchName, 'expected a valid git ref name'),
});
export type RollbackArgs = z.infer<typeof RollbackArgs>;

export type RollbackTarget = {
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
 * A process in a worktree can change which repository it points to. The approval is about this repository only, so
 * that git's own folder must confirm it.
 */
const checkLinked = async (git: Git, { repository }: StageTools, worktree: string): Promise<void> => {
  const own = await realpath(await git.text(['rev-parse', '--absolute-git-dir']));
  const back = await readFile(join(own, 'gitdir'), 'utf8').catch(() => '');
  const isLinked =
    dirname(own) === join(repository.commonDir, 'worktrees') &&
    resolve(own, back.trimEnd()) === join(git.root, '.git');
  const top = await git.text(['rev-parse', '--path-format=absolute', '--show-toplevel']);
  if (!isLinked || (await realpath(top)) !== git.root)
    throw refusedWorktree(worktree, 'is not the worktree that git has registered there');
};

const folderOf = async ({ worktree, isolated }: RollbackArgs, tools: StageTools): Promise<string> => {
  const { repository } = tools;
  if (worktree === undefined) {
    if (isolated) throw refusedWorktree('', 'is missing, and the shared checkout was not approved');
    return repository.root;
  }
  const root = await repository.inside(worktree);
  if (isolated && dirname(root) !== join(repository.root, WORKTREES))
    throw refusedWorktree(worktree, `is not in ${WORKTREES}`);
  await checkWorktree(tools, repository, root);
  if (root !== repository.root) await checkLinked(tools.git(root), tools, worktree);
  return root;
};

/** The worktree and its state. Throws `CleanFailure` unless it is the named one. */
export const rollbackTarget = async (input: StepInput, tools: StageTools): Promise<RollbackTarget> => {
  const args = argsOf(input);
  if (args.isolated && args.branch === undefined) throw invalid('with.branch: missing');
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

/** Why the rollback is not possible, for users. */
export const whyNot = async ({
  args: { commit },
  git,
  head,
}: RollbackTarget): Promise<string | undefined> => {
  if ((await git.commitOf(commit)) === undefined) return `no such commit: ${commit}`;
  if (await git.isAncestor(commit, head)) return undefined;
  return `${commit} is not an ancestor of ${head}, so it cannot be rolled back to`;
};
