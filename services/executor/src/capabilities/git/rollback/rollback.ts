import type { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import { forgetAttempts } from '../../../adapters/git/attempts.ts';
import type { Git } from '../../../adapters/git/git.ts';
import { GitError, GitStopped } from '../../../adapters/git/git-error.ts';
import { resetCheckout } from '../../../adapters/git/reset-checkout.ts';
import { branchRef } from '../../../adapters/git/ref-name.ts';
import { dropLocks } from '../../../adapters/git/snapshot.ts';
import { OutcomeUnknown } from '../../../ports/capability.ts';
import { invalid } from '../../stage/arguments.ts';
import type { RunStage, StageModule } from '../../stage/stage.ts';
import type { StageTools } from '../../stage/tools.ts';
import { succeeded } from '../../stage/results.ts';
import { asClean, cleanly, moved, refused, short } from '../integrate/target.ts';
import { type RollbackTarget, rollbackTarget, whyNot } from './checked-worktree.ts';
import { previewRollback, RollbackPreview } from './preview.ts';

const savedPrefix = (name: string): string => `refs/holdpoint/saved/${name}/`;

const approvedIn = (input: StepInput, { args }: RollbackTarget): { readonly head: string } => {
  const { success, data } = RollbackPreview.safeParse(input.preview);
  if (!success) throw invalid('preview: expected the approved preview');
  if (data.commit !== args.commit) throw invalid('preview: it is about another commit');
  return data;
};

/**
 * Keeps a commit under the name of this rollback. The first is the original state; a start after an interrupted one
 * may find another, and keeps that beside it.
 */
const keepUnder = async (git: Git, prefix: string, commit: string): Promise<void> => {
  const content = (id: string): Promise<string> =>
    git.text(['show', '-s', '--format=%T %P', '--end-of-options', id]);
  const wanted = await content(commit);
  for (let count = 1; ; count += 1) {
    const ref = `${prefix}${String(count)}`;
    const there = await git.commitOf(ref);
    if (there !== undefined && (await content(there)) === wanted) return;
    if (there === undefined && (await git.updateRef(ref, commit, undefined))) return;
  }
};

const savedRefs = async (git: Git, { args }: RollbackTarget): Promise<readonly string[]> =>
  (await git.refs(savedPrefix(args.saved))).map(({ ref }) => ref);

/** Whether the rollback is complete: untracked files may have been ignored before, and are not kept. */
const isDone = async (place: RollbackTarget, saved: readonly string[]): Promise<boolean> => {
  const { args, git, head } = place;
  if (head !== args.commit) return false;
  const entries = await git.status();
  if (entries.length === 0) return true;
  const [first] = saved;
  if (first === undefined || entries.some(({ code }) => code !== '??')) return false;
  const kept = new Set(await git.list(['ls-tree', '-r', '-z', '--name-only', '--full-tree', first]));
  return !entries.some(({ path }) => kept.has(path));
};

const said = async (from: string, place: RollbackTarget, done: boolean): Promise<StepResult> => {
  const { args, git } = place;
  const { commit } = args;
  const saved = await savedRefs(git, place);
  const [first] = saved;
  const left = (await git.status()).map(({ path }) => path);
  const what =
    first === undefined
      ? `already at ${short(commit)}: nothing to do`
      : `${done ? 'already rolled back ' : 'rolled back '}from ${short(from)} to ${short(commit)}; the old state is kept under ${saved.join(', ')}`;
  const note = left.length === 0 ? [] : [`left as they are: ${left.slice(0, 5).join(', ')}`];
  return succeeded([what, ...note].join('; '), {
    outputs: { head: from, commit, ...(first !== undefined && { saved: first }) },
  });
};

/** Failures before the move are clean. After it the outcome is unknown until it is repeated. */
const resetWorktree = async (from: string, place: RollbackTarget, tools: StageTools): Promise<void> => {
  const { args, git, head, branch } = place;
  const { commit, saved } = args;
  let begun = false;
  const move = async (): Promise<void> => {
    tools.assertInForce();
    begun = true;
    const ref = branch === undefined ? 'HEAD' : branchRef(branch);
    if (await git.updateRef(ref, commit, head)) return;
    begun = false;
    throw moved(branch ?? 'HEAD', from, (await git.head()).commit);
  };
  try {
    if (args.isolated && tools.epoch > 1) await dropLocks(git.root, tools.gitParts);
    await resetCheckout(git.root, tools.gitParts, {
      from: head,
      to: commit,
      message: `uncommitted changes before ${saved} was rolled back to ${commit}\n`,
      keep: (kept) => keepUnder(git, savedPrefix(saved), kept),
      move,
    });
    // Otherwise the restore of an interrupted step would bring the old files back.
    await forgetAttempts({ root: tools.repository.root, parts: tools.gitParts }, git.root);
  } catch (error) {
    if (!begun) throw asClean(error);
    if (error instanceof GitError || error instanceof GitStopped)
      throw new OutcomeUnknown(`interrupted while rolling back to ${short(commit)}: ${error.message}`, {
        cause: error,
      });
    throw error;
  }
};

/** Resets a worktree to a commit, from the state that was previewed. The old state is kept under a ref. */
const rollBack: RunStage = async (input, tools) => {
  const place = await cleanly(() => rollbackTarget(input, tools));
  const { args, git, head } = place;
  const { head: from } = approvedIn(input, place);
  if (head !== from && head !== args.commit) throw moved(place.branch ?? 'HEAD', from, head);
  const done = await cleanly(async () => isDone(place, await savedRefs(git, place)));
  if (!done) {
    const problem = await cleanly(() => whyNot(place));
    if (problem !== undefined) throw refused(problem);
    await resetWorktree(from, place, tools);
  }
  return said(from, place, done);
};

export const gitRollback: StageModule = {
  uses: 'cap.env.builtin.git.rollback',
  preview: previewRollback,
  run: rollBack,
  restores: false,
};
