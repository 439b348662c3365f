import { createGitExec, type GitExec, type GitParts } from './exec.ts';
import { restoreSnapshot, snapshotInfo, takeSnapshot } from './snapshot.ts';

const ATTEMPTS = 'refs/holdpoint/attempts/';
const KEPT = 'refs/holdpoint/kept/';

const attemptRef = (effectId: string): string => `${ATTEMPTS}${effectId}`;
/** The ref that keeps the changes of an interrupted attempt after its worktree was restored. */
export const keptRef = (name: string): string => `${KEPT}${name}`;

type GitFolder = { readonly root: string; readonly parts: GitParts };

/** A step in another worktree may have deleted the record in the meantime. */
const worktreeOf = async (exec: GitExec, ref: string): Promise<string | undefined> => {
  try {
    return (await snapshotInfo(exec, ref)).worktree;
  } catch (error) {
    const there = await exec.text(['for-each-ref', '--format=%(refname)', '--', ref]);
    if (there === '') return undefined;
    throw error;
  }
};

const attemptsIn = async (exec: GitExec, root: string): Promise<readonly string[]> => {
  const refs = (await exec.text(['for-each-ref', '--format=%(refname)', '--', ATTEMPTS])).split('\n');
  const known = await Promise.all(
    refs.filter((ref) => ref !== '').map(async (ref) => ({ ref, worktree: await worktreeOf(exec, ref) })),
  );
  return known.filter(({ worktree }) => worktree === root).map(({ ref }) => ref);
};

/**
 * Before a step works in a worktree: a repeated step gets the worktree back as its first start found it; a new step
 * records the worktree as it is now. The record stays until another step begins, because a finished step is repeated
 * when its end was lost.
 */
export const beginAttempt = async (
  { root, parts }: GitFolder,
  effectId: string,
  running: ReadonlySet<string> = new Set(),
): Promise<'begun' | 'restored'> => {
  const exec = createGitExec(root, parts);
  const own = attemptRef(effectId);
  const there = await attemptsIn(exec, root);
  if (there.includes(own)) {
    await restoreSnapshot(root, parts, own, keptRef(effectId));
    return 'restored';
  }
  const over = there.filter((ref) => !running.has(ref.slice(ATTEMPTS.length)));
  for (const ref of over) await exec.run(['update-ref', '--no-deref', '-d', '--', ref]);
  await takeSnapshot(root, parts, own);
  return 'begun';
};

/** Deletes the records of a worktree that is removed. */
export const forgetAttempts = async ({ root, parts }: GitFolder, worktree: string): Promise<void> => {
  const exec = createGitExec(root, parts);
  for (const ref of await attemptsIn(exec, worktree))
    await exec.run(['update-ref', '--no-deref', '-d', '--', ref]);
};
