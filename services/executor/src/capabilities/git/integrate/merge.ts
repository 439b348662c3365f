import { z } from 'zod';
import type { Git } from '../../../adapters/git/git.ts';
import { editTree, Identity, lastCommitTime, writeCommit } from '../branches/tree.ts';
import { mergeCommits } from './worktree.ts';
import { PLAN_FOLDERS, slugOf } from '../../plan/plan-document.ts';
import type { StageTools } from '../../stage/tools.ts';

/** The inputs of a merge: the same inputs always give the same commit ids. */
export const MergeFacts = z.object({
  slug: z.string(),
  source: z.string(),
  source_tip: z.string(),
  target: z.string(),
  target_tip: z.string(),
  squash: z.boolean(),
  message: z.string(),
  /** The author of the commits. */
  author: Identity,
});
export type MergeFacts = z.infer<typeof MergeFacts>;

export type Merge =
  | { readonly kind: 'conflict'; readonly files: readonly string[] }
  /** The target already contains the source. */
  | { readonly kind: 'already'; readonly tree: string }
  | {
      readonly kind: 'merged';
      readonly tree: string;
      readonly commit: string;
    };

export type PlanDocument = { readonly path: string; readonly text: string };

/** The plan document in a commit. */
export const planDocumentAt = async (
  git: Git,
  commit: string,
  slug: string,
): Promise<PlanDocument | undefined> => {
  const plain = slugOf(slug);
  const names = new Set([slug, ...('slug' in plain ? [plain.slug] : [])]);
  for (const folder of PLAN_FOLDERS) {
    for (const name of [...names].filter((one) => !/[/\0]/.test(one))) {
      const path = `${folder}/${name}.md`;
      const content = await git.fileAt(commit, path);
      if (content !== undefined) return { path, text: content.toString('utf8') };
    }
  }
  return undefined;
};

/** A commit that removes the plan document from the source; undefined when there is none. */
export const planRemoval = async (git: Git, facts: MergeFacts): Promise<string | undefined> => {
  const plan = await planDocumentAt(git, facts.source_tip, facts.slug);
  return plan && removalOf(git, facts, plan);
};

const removalOf = async (git: Git, facts: MergeFacts, plan: PlanDocument): Promise<string> => {
  const { source_tip, target_tip, slug, author: by } = facts;
  const tree = await editTree(git, await git.treeOf(source_tip), [{ path: plan.path, file: undefined }]);
  const message = `chore: remove the plan document of ${slug}`;
  const at = await lastCommitTime(git, [source_tip, target_tip]);
  return writeCommit(git, { tree, parents: [source_tip], message, by, at });
};

type MergeTree = {
  readonly tree: string;
  readonly conflicts: readonly string[];
  readonly plan: PlanDocument | undefined;
};

/** Merges the source without its plan document into the target, so that the document cannot conflict. */
const mergeOf = async (
  tools: StageTools,
  { slug, source_tip, target_tip }: Pick<MergeFacts, 'slug' | 'source_tip' | 'target_tip'>,
): Promise<MergeTree> => {
  const git = tools.git(tools.repository.root);
  const plan = await planDocumentAt(git, source_tip, slug);
  const merged = await mergeCommits(tools, target_tip, source_tip);
  const conflicts = merged.conflicts.filter((path) => path !== plan?.path);
  if (plan === undefined || conflicts.length > 0) return { tree: merged.tree, conflicts, plan };
  const tree = await editTree(git, merged.tree, [{ path: plan.path, file: undefined }]);
  return { tree, conflicts, plan };
};

/** The conflicting files of a merge. */
export const conflictsOf = async (
  tools: StageTools,
  facts: Pick<MergeFacts, 'slug' | 'source_tip' | 'target_tip'>,
): Promise<readonly string[]> => (await mergeOf(tools, facts)).conflicts;

/** Computes a merge, and writes its commits as unreferenced objects. */
export const computeMerge = async (tools: StageTools, facts: MergeFacts): Promise<Merge> => {
  const git = tools.git(tools.repository.root);
  const { source_tip, target_tip, squash, message, author } = facts;
  const before = await git.treeOf(target_tip);
  if (await git.isAncestor(source_tip, target_tip)) return { kind: 'already', tree: before };
  const { tree, conflicts, plan } = await mergeOf(tools, facts);
  if (conflicts.length > 0) return { kind: 'conflict', files: conflicts };
  if (tree === before) return { kind: 'already', tree };
  const head = plan === undefined || squash ? source_tip : await removalOf(git, facts, plan);
  const parents = squash ? [target_tip] : [target_tip, head];
  const text = plan === undefined ? message : `${message.trimEnd()}\n\n${plan.text.trim()}`;
  const at = await lastCommitTime(git, [source_tip, target_tip]);
  const commit = await writeCommit(git, { tree, parents, message: text, by: author, at });
  return { kind: 'merged', tree, commit };
};
