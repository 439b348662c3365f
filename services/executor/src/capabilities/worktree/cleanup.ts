import { access, rm } from 'node:fs/promises';
import { forgetAttempts, keptRef } from '../../adapters/git/attempts.ts';
import type { Git } from '../../adapters/git/git.ts';
import { GitError } from '../../adapters/git/git-error.ts';
import { keepFiles } from '../../adapters/git/snapshot.ts';
import { failed, succeeded } from '../stage/results.ts';
import type { RunStage, StageModule } from '../stage/stage.ts';
import type { StageTools } from '../stage/tools.ts';

/** Removes the task's worktree. Uncommitted changes are kept on a ref, which the result names. */
const cleanUp: RunStage = async ({ context }, tools) => {
  const { worktree } = context;
  const gone = { context: { worktree: null } };
  // All other folders were refused before.
  if (worktree === undefined || !tools.inWorktree) return succeeded('there is no worktree to clean up');
  const { repository, root: place } = tools;
  const git = tools.git(repository.root);
  const there = (await git.worktreeList()).find(({ path }) => path === place);
  if (there === undefined) {
    if (
      await access(place).then(
        () => true,
        () => false,
      )
    )
      return failed(`${worktree} is not a worktree of this repository and was not removed`);
    return succeeded(`${worktree} is already gone`, gone);
  }
  const kept = there.prunable ? undefined : await keepUnfinished(tools, place);
  await forgetAttempts({ root: repository.root, parts: tools.gitParts }, place);
  const problem = await remove(git, place);
  const said = [
    `removed ${worktree}`,
    ...(kept === undefined ? [] : [`uncommitted work is kept at ${kept}`]),
    ...(problem === undefined ? [] : [`not completely removed: ${problem}`]),
  ];
  return succeeded(said.join('; '), {
    ...gone,
    outputs: { worktree, degraded: problem !== undefined, ...(kept !== undefined && { kept }) },
  });
};

export const cleanUpWorktree: StageModule = {
  uses: 'cap.env.builtin.worktree.cleanup',
  run: cleanUp,
  restores: false,
};

/** Keeps uncommitted files, and commits without a branch. */
const keepUnfinished = async (tools: StageTools, place: string): Promise<string | undefined> => {
  const git = tools.git(place);
  const message = `unfinished work of ${tools.about.task}, kept when its worktree was removed\n`;
  const commit = await keepFiles(place, tools.gitParts, message);
  if (commit === undefined) return undefined;
  const content = (id: string): Promise<string> => git.text(['show', '-s', '--format=%T %P', id]);
  const name = keptRef(tools.about.task);
  for (let count = 1; ; count += 1) {
    const ref = count === 1 ? name : `${name}-${String(count)}`;
    const there = await git.commitOf(ref);
    // Kept by an interrupted attempt.
    if (there !== undefined && (await content(there)) === (await content(commit))) return ref;
    if (there === undefined && (await git.updateRef(ref, commit, undefined))) return ref;
  }
};

/** The reason when a part is left. */
const remove = async (git: Git, place: string): Promise<string | undefined> => {
  try {
    await git.worktreeRemove(place);
    return undefined;
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
  }
  try {
    await rm(place, { recursive: true, force: true });
    await git.worktreePrune();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};
