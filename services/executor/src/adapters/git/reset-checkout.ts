import { randomUUID } from 'node:crypto';
import { lstat, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createGitExec, type GitExec, type GitParts } from './exec.ts';
import { filtersIn } from './hardening.ts';
import { gitDirOf, withAllStaged } from './snapshot.ts';
import { refuseFilters, stageWith } from './staging.ts';

export type CheckoutReset = {
  readonly from: string;
  readonly to: string;
  /** Message of the commit that keeps uncommitted changes. */
  readonly message: string;
  /** Keeps a commit that may have no ref. */
  readonly keep: (commit: string) => Promise<void>;
  /** Moves HEAD. An error before that has changed nothing in the checkout. */
  readonly move: () => Promise<void>;
};

/** Refuses files that need a filter according to the attributes of the commit. */
const refuseFiltersOf = async (
  root: string,
  parts: GitParts,
  gitDir: string,
  { to }: CheckoutReset,
  tree: string,
) => {
  const index = join(gitDir, `holdpoint-index-${randomUUID()}`);
  const exec = createGitExec(root, { ...parts, env: { ...parts.env, GIT_INDEX_FILE: index } });
  if (filtersIn(await exec.config()).size === 0) return;
  try {
    await exec.run(['read-tree', to]);
    const changed = await exec.list(['diff-tree', '-r', '-z', '--name-only', '--no-renames', tree, to, '--']);
    await refuseFilters(exec, changed, 'index');
  } finally {
    await rm(index, { force: true });
    await rm(`${index}.lock`, { force: true });
  }
};

/** The file or folder that blocks a path of the new checkout. */
const inTheWayOf = async (root: string, path: string): Promise<string | undefined> => {
  const parts = path.split('/');
  for (let count = 1; count <= parts.length; count += 1) {
    const place = parts.slice(0, count).join('/');
    const there = await lstat(join(root, place)).catch(() => undefined);
    if (there === undefined) return undefined;
    if (!there.isDirectory() || count === parts.length) return place;
  }
  return undefined;
};

/** Stages ignored files that the new checkout would overwrite, so that they are kept as well. */
const stageIgnored = async (root: string, all: GitExec, to: string): Promise<void> => {
  const tree = await all.text(['write-tree']);
  const argv = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--diff-filter=A'];
  const added = await all.list([...argv, tree, to, '--']);
  const found = new Set<string>();
  for (const path of added) {
    const place = await inTheWayOf(root, path);
    if (place !== undefined) found.add(place);
  }
  await stageWith(all, root, [...found], { force: true });
};

/**
 * Resets a checkout to a commit, after its HEAD and all uncommitted changes were kept. Untracked files are removed
 * only if they were kept; ignored files stay.
 */
export const resetCheckout = async (root: string, parts: GitParts, way: CheckoutReset): Promise<void> => {
  const { from, to, message, keep, move } = way;
  const exec = createGitExec(root, parts);
  const gitDir = await gitDirOf(exec);
  await withAllStaged(root, parts, gitDir, async (all) => {
    await stageIgnored(root, all, to);
    const tree = await all.text(['write-tree']);
    await refuseFiltersOf(root, parts, gitDir, way, tree);
    const committed = await exec.text(['rev-parse', '--verify', '--end-of-options', `${from}^{tree}`]);
    const kept =
      tree === committed
        ? from
        : await exec.text(['commit-tree', tree, '-p', from, '-F', '-'], { stdin: message });
    await keep(kept);
    await move();
    await all.run(['read-tree', '--reset', '-u', to]);
  });
  // The files are already in place: this resets the index, and a merge that was under way.
  await exec.run(['reset', '--hard', '--quiet', to]);
};
