import type { StepResult } from '@holdpoint/contracts/task/step';
import type { Git } from '../../../adapters/git/git.ts';
import { GitStopped } from '../../../adapters/git/git-error.ts';
import { clearSentinelFile } from '../../merge/sentinel.ts';
import type { RunStage, StageModule } from '../../stage/stage.ts';
import type { StageTools } from '../../stage/tools.ts';
import { succeeded } from '../../stage/results.ts';
import { followMove, obstacleTo } from '../branches/checkout.ts';
import { computeMerge } from './merge.ts';
import { type MergePreview, previewIntegration } from './preview.ts';
import { probeIntegration } from './probe.ts';
import { revertIntegration } from './revert.ts';
import { type CleanupResult, cleanUpSource } from './source.ts';
import { cleanly, moved, moveTarget, previewIn, refused, short } from './target.ts';

const NOTHING: CleanupResult = { deleted: false, notes: [] };

type MergeProgress = 'to do' | 'done' | 'done, and more since';

/** The progress of an earlier attempt, read from the branches. */
const progressOf = async (git: Git, preview: MergePreview): Promise<MergeProgress> => {
  const { source, source_tip, target, target_tip, commit, already } = preview;
  const at = await git.tip(target);
  if (at === undefined) throw moved(target, target_tip, at);
  if (at === commit && !already) return 'done';
  if (at !== target_tip) {
    const holds = (await git.commitOf(commit)) !== undefined && (await git.isAncestor(commit, at));
    if (holds) return 'done, and more since';
    throw moved(target, target_tip, at);
  }
  const from = await git.tip(source);
  // The deletion is the last step.
  if (already && from === undefined && preview.delete_branch) return 'done';
  if (from !== source_tip) throw moved(source, source_tip, from);
  return already ? 'done' : 'to do';
};

/** Computes the commits again, and checks that they are the approved ones. */
const verifyMerge = async (tools: StageTools, preview: MergePreview): Promise<void> => {
  const merge = await computeMerge(tools, preview);
  if (merge.kind !== 'merged' || merge.commit !== preview.commit || merge.tree !== preview.tree) {
    throw refused(
      `merging ${preview.source} into ${preview.target} gives other commits than the approved ones`,
    );
  }
};

/** All steps before the target is moved. Returns why it may not be moved, for users. */
const prepare = async (tools: StageTools, preview: MergePreview): Promise<string | undefined> => {
  await verifyMerge(tools, preview);
  const { target: branch, target_tip: from, commit: to } = preview;
  return obstacleTo(tools, { branch, from, to });
};

/** Failures after the move become notes: the merge has happened. */
const asNote = (error: unknown): CleanupResult => {
  if (error instanceof GitStopped || !(error instanceof Error)) throw error;
  return { deleted: false, notes: [`the cleanup after the merge failed: ${error.message}`] };
};

/** The repeatable steps after the move. */
const finish = async (
  tools: StageTools,
  preview: MergePreview,
  standing: MergeProgress,
): Promise<StepResult> => {
  const { slug, source, target: branch, target_tip: from, commit: to, already } = preview;
  const stays = already || standing === 'done, and more since';
  const followed = stays ? [] : await followMove(tools, { branch, from, to });
  const tidied = await cleanUpSource(tools, preview).catch(asNote);
  const cleared = await clearSentinelFile(tools.repository, slug).then(() => NOTHING, asNote);
  const what = already
    ? `${branch} already contains ${source}: nothing to merge`
    : `merged ${source} into ${branch} as ${short(to)}`;
  return succeeded([what, ...followed, ...tidied.notes, ...cleared.notes].join('; '), {
    outputs: { commit: to, target: branch, slug, already, source_deleted: tidied.deleted },
    context: { commit: to, target: branch, slug },
  });
};

/** Executes the previewed merge. Every repeat gives the same commit. */
const integrate: RunStage = async (input, tools) => {
  const preview = previewIn(input);
  const git = tools.git(tools.repository.root);
  const standing = await progressOf(git, preview);
  if (standing === 'to do') {
    const obstacle = await cleanly(() => prepare(tools, preview));
    // Nothing has happened: the obstacle may be gone at the next attempt.
    if (obstacle !== undefined) throw refused(obstacle);
    const { target: branch, target_tip: from, commit: to } = preview;
    await moveTarget(tools, git, { branch, from, to });
  }
  return finish(tools, preview, standing);
};

export const integratePlanBranch: StageModule = {
  uses: 'cap.env.builtin.git.integrate_plan_branch',
  preview: previewIntegration,
  run: integrate,
  probe: probeIntegration,
  compensate: revertIntegration,
  // It works on branches; the worktree of the task may be gone by then.
  restores: false,
};
