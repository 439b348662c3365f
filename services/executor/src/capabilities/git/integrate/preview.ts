import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import { z } from 'zod';
import { GitError } from '../../../adapters/git/git-error.ts';
import type { Git } from '../../../adapters/git/git.ts';
import { obstacleTo } from '../branches/checkout.ts';
import { MergeFacts, computeMerge } from './merge.ts';
import { identityOf } from '../branches/tree.ts';
import { mergeSlug, sourceBranchOf, targetBranchOf, writeSentinelFile } from '../../merge/sentinel.ts';
import { argOf, invalid } from '../../stage/arguments.ts';
import { blocked, failed, succeeded } from '../../stage/results.ts';
import type { RunStage } from '../../stage/stage.ts';
import type { StageTools } from '../../stage/tools.ts';

const COMMITS_SHOWN_MAX = 50;
const SUBJECT_CHARACTERS_MAX = 200;
const DIFFSTAT_CHARACTERS_MAX = 8_000;
const PATCH_CHARACTERS_MAX = 32_768;

/** The approved facts of a merge. Exactly these are executed. */
export const MergePreview = MergeFacts.extend({
  delete_branch: z.boolean(),
  tree: z.string(),
  /** The new commit of the target. */
  commit: z.string(),
  /** The target already contains the source. */
  already: z.boolean(),
});
export type MergePreview = z.infer<typeof MergePreview>;

const YES = ['true', '1', 'yes', 'on'];
const NO = ['false', '0', 'no', 'off'];

const switchOf = (input: StepInput, name: string, otherwise: boolean): boolean => {
  const text = argOf(input, name)?.trim().toLowerCase();
  if (text === undefined) return otherwise;
  if (YES.includes(text) || NO.includes(text)) return YES.includes(text);
  throw invalid(`with.${name}: ${JSON.stringify(text)}, expected true or false`);
};

type MergeRequest = MergeFacts & { readonly delete_branch: boolean };

/** The requested merge, with its branches resolved. */
const requestOf = async (
  input: StepInput,
  tools: StageTools,
): Promise<MergeRequest | { readonly problem: string }> => {
  const git = tools.git(tools.repository.root);
  const source = sourceBranchOf(input);
  if (source === undefined) return { problem: 'no branch to merge: expected branch, slug or plan' };
  const target = await targetBranchOf(input, tools);
  if (target === undefined) {
    return { problem: 'no branch to merge into: give a target, because no branch is checked out' };
  }
  if (source === target) return { problem: `${source} cannot be merged into itself` };
  const [sourceTip, targetTip] = [await git.tip(source), await git.tip(target)];
  if (sourceTip === undefined) return { problem: `no such branch to merge: ${source}` };
  if (targetTip === undefined) return { problem: `no such branch to merge into: ${target}` };
  const slug = mergeSlug(input, tools.about.task);
  return {
    slug,
    source,
    source_tip: sourceTip,
    target,
    target_tip: targetTip,
    squash: switchOf(input, 'squash', true),
    delete_branch: switchOf(input, 'delete_branch', false),
    message: argOf(input, 'message') ?? `feat: merge plan ${slug}`,
    author: await identityOf(git),
  };
};

const commitsOf = async (git: Git, { source_tip, target_tip }: MergeRequest) => {
  const argv = [
    'log',
    '-z',
    '--no-show-signature',
    '--format=%H %s',
    `--max-count=${String(COMMITS_SHOWN_MAX)}`,
  ];
  const lines = await git.list([...argv, '--end-of-options', `${target_tip}..${source_tip}`, '--']);
  return lines.map((line) => ({
    sha: line.slice(0, line.indexOf(' ')),
    subject: line
      .slice(line.indexOf(' ') + 1)
      .slice(0, SUBJECT_CHARACTERS_MAX)
      .toWellFormed(),
  }));
};

const conflict = async (
  tools: StageTools,
  wish: MergeRequest,
  files: readonly string[],
): Promise<StepResult> => {
  const { slug, source, target } = wish;
  const path = await writeSentinelFile(tools.repository, {
    slug,
    source_branch: source,
    target_branch: target,
    task: tools.about.task,
    node: tools.about.node,
    created_at: new Date().toISOString(),
    files: [...files],
  });
  return blocked(`merging ${source} into ${target} conflicts in ${files.join(', ')}`, {
    outputs: { slug, source, target, files: [...files], sentinel: path },
    context: { slug, branch: source, target },
  });
};

/** The changes on the target, shortened to fit into a message. */
const diffstatOf = async (git: Git, from: string, to: string): Promise<string> => {
  const whole = await git.diffstat(from, to);
  if (whole.length <= DIFFSTAT_CHARACTERS_MAX) return whole;
  const last = whole.slice(whole.trimEnd().lastIndexOf('\n') + 1);
  return `${whole.slice(0, DIFFSTAT_CHARACTERS_MAX).toWellFormed()}\n[...]\n${last}`;
};

/**
 * The patch that the merge applies to the target, shortened to whole lines. A patch beyond the limits of git leaves only
 * the command that prints it.
 */
const patchOf = async (git: Git, from: string, to: string): Promise<string> => {
  const command = `git diff ${from} ${to}`;
  let whole: string;
  try {
    whole = await git.patch(from, to);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return `[too long to show: ${command}]\n`;
  }
  const text = whole.toWellFormed().replaceAll('\0', '\uFFFD');
  if (text.length <= PATCH_CHARACTERS_MAX) return text;
  const shown = text.slice(0, text.lastIndexOf('\n', PATCH_CHARACTERS_MAX) + 1);
  return `${shown}[shortened, all of it: ${command}]\n`;
};

/** Shows what a merge would do. It writes only unreferenced objects, and the sentinel of a conflict. */
export const previewIntegration: RunStage = async (input, tools) => {
  const wish = await requestOf(input, tools);
  if ('problem' in wish) return failed(wish.problem);
  const git = tools.git(tools.repository.root);
  const merge = await computeMerge(tools, wish);
  if (merge.kind === 'conflict') return conflict(tools, wish, merge.files);
  const { slug, source, target, target_tip } = wish;
  const context = { slug, branch: source, target };
  const commit = merge.kind === 'merged' ? merge.commit : target_tip;
  const obstacle =
    merge.kind === 'merged'
      ? await obstacleTo(tools, { branch: target, from: target_tip, to: commit })
      : undefined;
  // An impossible merge must not reach an approver.
  if (obstacle !== undefined) return blocked(obstacle, { context });
  const already = merge.kind === 'already';
  const preview: MergePreview = { ...wish, tree: merge.tree, commit, already };
  const commits = await commitsOf(git, wish);
  const diffstat = already ? '' : await diffstatOf(git, target_tip, commit);
  const patch = already ? '' : await patchOf(git, target_tip, commit);
  const outputs: JsonObject = { ...preview, commits, diffstat, patch };
  const detail = already
    ? `${target} already contains ${source}`
    : `${source} (${wish.source_tip.slice(0, 12)}) can be merged into ${target} (${target_tip.slice(0, 12)})`;
  return succeeded(detail, { outputs, context });
};
