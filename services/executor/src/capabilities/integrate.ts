import { errorBody } from '@holdpoint/contracts/errors';
import type { StepInput, StepResult } from '@holdpoint/contracts/step';
import type { Git } from '../adapters/git/git.ts';
import { GitError, GitStopped } from '../adapters/git/git-error.ts';
import { branchRef } from '../adapters/git/ref-name.ts';
import { CleanFailure } from './capability.ts';
import { followMove, obstacleTo } from './integrate-checkout.ts';
import { workOutMerge } from './integrate-merge.ts';
import { MergePreview } from './integrate-preview.ts';
import { type Tidied, tidySource } from './integrate-source.ts';
import { clearSentinelFile } from './sentinel.ts';
import { invalid, type RunStage, type StageTools, succeeded } from './stage.ts';

const NOTHING: Tidied = { deleted: false, notes: [] };

const short = (commit: string | undefined): string => commit?.slice(0, 12) ?? 'gone';

const refused = (problem: string): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_TARGET_REFUSED', problem));

const moved = (branch: string, from: string, to: string | undefined): CleanFailure =>
  refused(`${branch} moved since it was approved: from ${short(from)} to ${short(to)}`);

const previewIn = (input: StepInput): MergePreview => {
  const parsed = MergePreview.safeParse(input.preview);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    ({ path, message }) => `${['preview', ...path].join('.')}: ${message}`,
  );
  throw invalid(problems.join('; '));
};

/** Until the target has been moved nothing has happened, whatever goes wrong. */
const cleanly = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GitStopped) {
      throw new CleanFailure(
        errorBody('EXECUTOR_CANCELLED', 'told to end before anything was merged'),
        error,
      );
    }
    if (error instanceof GitError) {
      throw new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', error.message), error);
    }
    throw error;
  }
};

type Standing = 'to do' | 'done' | 'done, and more since';

/** How far an earlier attempt got, as the branches show it. */
const standingOf = async (git: Git, preview: MergePreview): Promise<Standing> => {
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
  // Deleting it comes last.
  if (already && from === undefined && preview.delete_branch) return 'done';
  if (from !== source_tip) throw moved(source, source_tip, from);
  return already ? 'done' : 'to do';
};

/** Makes the commits again, and makes sure that they are those that were approved. */
const makeAgain = async (tools: StageTools, preview: MergePreview): Promise<void> => {
  const merge = await workOutMerge(tools, preview);
  if (merge.kind !== 'merged' || merge.commit !== preview.commit || merge.tree !== preview.tree) {
    throw refused(`merging ${preview.source} into ${preview.target} gives something else than was approved`);
  }
};

/** Everything before the target is moved; the reason for people when it may not be moved. */
const prepare = async (tools: StageTools, preview: MergePreview): Promise<string | undefined> => {
  await makeAgain(tools, preview);
  const { target: branch, target_tip: from, commit: to } = preview;
  return obstacleTo(tools, { branch, from, to });
};

const moveTarget = async (
  tools: StageTools,
  git: Git,
  { target, target_tip, commit }: MergePreview,
): Promise<void> => {
  tools.assertInForce();
  if (await git.updateRef(branchRef(target), commit, target_tip)) return;
  const at = await git.tip(target);
  // An earlier start of the same effect makes the same commit.
  if (at !== commit) throw moved(target, target_tip, at);
};

/** What fails once the target has been moved is told, and cannot unsay that it was. */
const asNote = (error: unknown): Tidied => {
  if (error instanceof GitStopped || !(error instanceof Error)) throw error;
  return { deleted: false, notes: [`what comes after a merge was not done: ${error.message}`] };
};

/** What comes after the target has been moved. Every part of it may be done again. */
const finish = async (tools: StageTools, preview: MergePreview, standing: Standing): Promise<StepResult> => {
  const { slug, source, target: branch, target_tip: from, commit: to, already } = preview;
  const stays = already || standing === 'done, and more since';
  const followed = stays ? [] : await followMove(tools, { branch, from, to });
  const tidied = await tidySource(tools, preview).catch(asNote);
  const cleared = await clearSentinelFile(tools.repository, slug).then(() => NOTHING, asNote);
  const what = already
    ? `everything of ${source} was in ${branch}: nothing was merged`
    : `merged ${source} into ${branch} as ${short(to)}`;
  return succeeded([what, ...followed, ...tidied.notes, ...cleared.notes].join('; '), {
    outputs: { commit: to, target: branch, slug, already, source_deleted: tidied.deleted },
    context: { commit: to, target: branch, slug },
  });
};

/** Does what was previewed, once: however often it is repeated, the same commit comes of it. */
export const integratePlanBranch: RunStage = async (input, tools) => {
  const preview = previewIn(input);
  const git = tools.git(tools.repository.root);
  const standing = await standingOf(git, preview);
  if (standing === 'to do') {
    const obstacle = await cleanly(() => prepare(tools, preview));
    // Nothing has happened: the next attempt looks again, and may find it out of the way.
    if (obstacle !== undefined) throw refused(obstacle);
    await moveTarget(tools, git, preview);
  }
  return finish(tools, preview, standing);
};

/** Whether what was previewed has been merged, looked for in the branches alone. */
export const probe = async (
  input: StepInput,
  tools: StageTools,
): Promise<'applied' | 'not_applied' | 'unknown'> => {
  const parsed = MergePreview.safeParse(input.preview);
  if (!parsed.success) return 'unknown';
  const { source_tip, target, target_tip, commit, already } = parsed.data;
  const git = tools.git(tools.repository.root);
  const at = await git.tip(target);
  if (at === undefined) return 'unknown';
  if (already || at === commit) return 'applied';
  if (at === target_tip) return 'not_applied';
  for (const sign of [commit, source_tip]) {
    if ((await git.commitOf(sign)) !== undefined && (await git.isAncestor(sign, at))) return 'applied';
  }
  if ((await git.commitOf(source_tip)) === undefined) return 'unknown';
  return (await addsNothing(tools, parsed.data, at)) ? 'applied' : 'not_applied';
};

/** Its patch is on the target, under whatever commit: merging it would change nothing. */
const addsNothing = async (tools: StageTools, preview: MergePreview, at: string): Promise<boolean> => {
  const again = await workOutMerge(tools, { ...preview, target_tip: at });
  return again.kind === 'already';
};
