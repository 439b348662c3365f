import type { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import type { Git } from '../../../adapters/git/git.ts';
import type { AppliedEffect } from '../../../ports/capability.ts';
import type { StageTools } from '../../stage/tools.ts';
import { succeeded } from '../../stage/results.ts';
import { followMove, type Move, obstacleTo } from '../branches/checkout.ts';
import type { MergePreview } from './preview.ts';
import { cleanly, moveTarget, previewIn, refused, short } from './target.ts';
import { lastCommitTime, writeCommit } from '../branches/tree.ts';
import { mergeCommits } from './worktree.ts';

/** The commit trailer that names the reverted effect. */
export const TRAILER = 'Holdpoint-Effect';

/** The commit that already reverts an effect, if any. */
const earlierRevert = async (
  git: Git,
  effectId: string,
  { commit }: MergePreview,
  at: string,
): Promise<string | undefined> => {
  // Effect ids contain no special characters of a pattern.
  const pattern = `--grep=^${TRAILER}: ${effectId}$`;
  const argv = ['log', '--no-show-signature', '--format=%H', '--max-count=1', pattern];
  const found = await git.text([...argv, '--end-of-options', `${commit}..${at}`, '--']);
  return found === '' ? undefined : found;
};

/** The tree of the target without the merge; undefined when nothing of it is left. */
const treeWithout = async (
  tools: StageTools,
  git: Git,
  { target, target_tip, commit, author }: MergePreview,
  at: string,
): Promise<string | undefined> => {
  // A revert of the merge right on top of it: merging that into the target is the revert.
  const opposite = await writeCommit(git, {
    tree: await git.treeOf(target_tip),
    parents: [commit],
    message: `revert of ${commit}`,
    by: author,
    at: await lastCommitTime(git, [commit]),
  });
  const { tree, conflicts } = await mergeCommits(tools, at, opposite);
  if (conflicts.length > 0) {
    const where = conflicts.join(', ');
    throw refused(`${short(commit)} cannot be reverted on ${target}: it conflicts in ${where}`);
  }
  return tree === (await git.treeOf(at)) ? undefined : tree;
};

const subjectOf = (git: Git, commit: string): Promise<string> =>
  git.text(['log', '--no-walk', '--no-show-signature', '--format=%s', '--end-of-options', commit, '--']);

/** Creates the revert commit. Deterministic for the same target. */
const revertOn = async (
  tools: StageTools,
  git: Git,
  { effectId, preview, at }: { effectId: string; preview: MergePreview; at: string },
): Promise<Move | undefined> => {
  const { target: branch, commit, author } = preview;
  if ((await git.commitOf(commit)) === undefined || !(await git.isAncestor(commit, at)))
    throw refused(`${short(commit)} is not on ${branch}: nothing to revert`);
  const tree = await treeWithout(tools, git, preview, at);
  if (tree === undefined) return undefined;
  const subject = `Revert "${await subjectOf(git, commit)}"`;
  const message = `${subject}\n\nThis reverts commit ${commit}.\n\n${TRAILER}: ${effectId}\n`;
  const facts = { tree, parents: [at], message, by: author, at: await lastCommitTime(git, [at]) };
  const move = { branch, from: at, to: await writeCommit(git, facts) };
  const obstacle = await obstacleTo(tools, move);
  if (obstacle !== undefined) throw refused(obstacle);
  return move;
};

const said = (
  { target, commit, source }: MergePreview,
  revert: string | undefined,
  notes: readonly string[],
): StepResult => {
  const what =
    revert === undefined
      ? `nothing of ${short(commit)} is left in ${target}: nothing to do`
      : `reverted ${short(commit)} on ${target} with ${short(revert)}`;
  const kept = `${source} is unchanged`;
  return succeeded([what, kept, ...notes].join('; '), {
    outputs: { target, reverted: commit, ...(revert !== undefined && { commit: revert }) },
  });
};

/**
 * Reverts a merge by a commit on its target. Repeatable: an earlier revert is found by its trailer. Refused without
 * a change when it conflicts with later commits, or a checkout could not follow.
 */
export const revertIntegration = async (
  { effectId, input }: AppliedEffect<StepInput>,
  tools: StageTools,
): Promise<StepResult> => {
  const preview = previewIn(input);
  const { target, already } = preview;
  if (already) return said(preview, undefined, []);
  const git = tools.git(tools.repository.root);
  const at = await git.tip(target);
  if (at === undefined) throw refused(`branch ${target} no longer exists`);
  const before = await cleanly(() => earlierRevert(git, effectId, preview, at));
  if (before !== undefined) {
    const from = await git.commitOf(`${before}^`);
    // Its checkouts may not have been updated then.
    const stays = before !== at || from === undefined;
    return said(preview, before, stays ? [] : await followMove(tools, { branch: target, from, to: before }));
  }
  const move = await cleanly(() => revertOn(tools, git, { effectId, preview, at }));
  if (move === undefined) return said(preview, undefined, []);
  await moveTarget(tools, git, move);
  return said(preview, move.to, await followMove(tools, move));
};
