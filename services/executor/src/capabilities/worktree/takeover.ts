import { relative, sep } from 'node:path';
import { forgetAttempts } from '../../adapters/git/attempts.ts';
import { checkoutsOf, gitFolder } from '../git/integrate/checkout.ts';
import { type StageTools, WORKTREES } from '../stage.ts';

/** Whether it is one of the worktrees that are made for tasks: nobody else's loses its branch. */
export const isOfATask = ({ repository }: Pick<StageTools, 'repository'>, path: string): boolean =>
  path.startsWith(`${repository.root}${sep}${WORKTREES.replaceAll('/', sep)}${sep}`);

/** Leaves a worktree of a task where it is, with all of its files, on no branch. */
export const detach = async (tools: StageTools, path: string, at: string): Promise<void> => {
  const git = tools.git(path);
  if ((await gitFolder(tools, git)) === undefined) return;
  await git.run(['update-ref', '--no-deref', 'HEAD', at]);
  // To put back a step that was interrupted there would put the branch back, too.
  await forgetAttempts({ root: tools.repository.root, parts: tools.gitParts }, path);
};

/**
 * Gives a branch to the worktree at `place` alone: a commit through another one, which does not have what was committed since,
 * would undo that. Says which other worktrees of tasks have lost it.
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
