import { relative, sep } from 'node:path';
import { forgetAttempts } from '../../adapters/git/attempts.ts';
import { checkoutsOf, gitFolder } from '../git/branches/checkout.ts';
import type { StageTools } from '../stage/tools.ts';
import { WORKTREES } from '../stage/worktree.ts';

/** Whether a path is a task worktree: other worktrees never lose their branch. */
export const isOfATask = ({ repository }: Pick<StageTools, 'repository'>, path: string): boolean =>
  path.startsWith(`${repository.root}${sep}${WORKTREES.replaceAll('/', sep)}${sep}`);

/** Detaches a task worktree from its branch, with all its files. */
export const detach = async (tools: StageTools, path: string, at: string): Promise<void> => {
  const git = tools.git(path);
  if ((await gitFolder(tools, git)) === undefined) return;
  await git.run(['update-ref', '--no-deref', 'HEAD', at]);
  // Otherwise the restore of an interrupted step would bring the branch back.
  await forgetAttempts({ root: tools.repository.root, parts: tools.gitParts }, path);
};

/**
 * Moves a branch to the worktree at `place`: a commit from another worktree, without the later commits, would undo
 * those. Returns the task worktrees that lost the branch.
 */
export const takeOver = async (
  tools: StageTools,
  branch: string,
  place: string,
): Promise<readonly string[]> => {
  const at = await tools.git(tools.repository.root).tip(branch);
  if (at === undefined) return [];
  const others = (await checkoutsOf(tools, branch)).filter(
    (path) => path !== place && isOfATask(tools, path),
  );
  for (const path of others) await detach(tools, path, at);
  return others.map((path) => relative(tools.repository.root, path));
};
