import { createGitExec, type GitExec, type GitParts } from './exec.ts';
import { restoreSnapshot, snapshotAbout, takeSnapshot } from './snapshot.ts';

const ATTEMPTS = 'refs/holdpoint/attempts/';
const KEPT = 'refs/holdpoint/kept/';

const attemptRef = (effectId: string): string => `${ATTEMPTS}${effectId}`;
/** Where what an interrupted attempt had done is kept, after its worktree was put back. */
export const keptRef = (name: string): string => `${KEPT}${name}`;

type Place = { readonly root: string; readonly parts: GitParts };

/** Of a note that somebody else has forgotten meanwhile, a step in another worktree, nothing is known. */
const worktreeOf = async (exec: GitExec, ref: string): Promise<string | undefined> => {
  try {
    return (await snapshotAbout(exec, ref)).worktree;
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
 * Before a step works in a worktree: a step that has begun there before is a repeat, and finds the worktree as it was then; any
 * other leaves a note of how it is now. The note of a step is only forgotten when another begins: a step that has ended may be
 * repeated all the same, when nobody has heard of its end.
 */
export const beginAttempt = async (
  { root, parts }: Place,
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

/** Forgets the steps of a worktree that goes away. */
export const forgetAttempts = async ({ root, parts }: Place, worktree: string): Promise<void> => {
  const exec = createGitExec(root, parts);
  for (const ref of await attemptsIn(exec, worktree))
    await exec.run(['update-ref', '--no-deref', '-d', '--', ref]);
};
