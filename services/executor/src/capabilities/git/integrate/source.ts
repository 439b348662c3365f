import type { Git } from '../../../adapters/git/git.ts';
import { checkoutsOf, moveBranch } from '../branches/checkout.ts';
import { planRemoval } from './merge.ts';
import type { MergePreview } from './preview.ts';
import type { StageTools } from '../../stage/tools.ts';
import { detach, isOfATask } from '../../worktree/takeover.ts';

export type CleanupResult = { readonly deleted: boolean; readonly notes: readonly string[] };

const kept = (...notes: readonly string[]): CleanupResult => ({ deleted: false, notes });

const deleteSource = async (
  tools: StageTools,
  git: Git,
  source: string,
  at: string,
): Promise<CleanupResult> => {
  const checkouts = await checkoutsOf(tools, source);
  const foreign = checkouts.find((path) => !isOfATask(tools, path));
  if (foreign !== undefined) return kept(`${source} was not deleted: it is checked out at ${foreign}`);
  for (const path of checkouts) await detach(tools, path, at);
  return (await git.deleteBranch(source, at))
    ? { deleted: true, notes: [`deleted ${source}`] }
    : kept(`${source} was not deleted: it has moved since`);
};

const removePlan = async (tools: StageTools, preview: MergePreview): Promise<CleanupResult> => {
  const to = await planRemoval(tools.git(tools.repository.root), preview);
  if (to === undefined) return kept();
  const done = await moveBranch(tools, { branch: preview.source, from: preview.source_tip, to });
  if (!done.moved) return kept(`the plan document stays on ${preview.source}: ${done.why}`);
  return kept(...done.notes);
};

/** Cleans up the merged branch: deletes it if requested, else removes its plan document. */
export const cleanUpSource = async (tools: StageTools, preview: MergePreview): Promise<CleanupResult> => {
  const git = tools.git(tools.repository.root);
  const { source, source_tip, delete_branch, already } = preview;
  const at = await git.tip(source);
  if (at === undefined) return { deleted: delete_branch, notes: [] };
  if (at !== source_tip) {
    return delete_branch ? kept(`${source} was not deleted: it has moved since`) : kept();
  }
  if (delete_branch) return deleteSource(tools, git, source, at);
  return already ? kept() : removePlan(tools, preview);
};
