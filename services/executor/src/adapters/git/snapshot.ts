import { randomUUID } from 'node:crypto';
import { copyFile, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { createGitExec, type GitExec, type GitParts } from './exec.ts';
import { stageWith } from './staging.ts';

/** Files of an operation under way, such as a merge. */
const STATES = ['MERGE_HEAD', 'MERGE_MSG', 'MERGE_MODE', 'CHERRY_PICK_HEAD', 'REVERT_HEAD'] as const;

/** Stored in the message of a snapshot. */
const SnapshotInfo = z.object({
  worktree: z.string(),
  head: z.string().optional(),
  branch: z.string().optional(),
});
type SnapshotInfo = z.infer<typeof SnapshotInfo>;

/** Locks that killed git processes of an attempt may have left in their own worktree. */
const OWN_LOCKS = ['index.lock', 'HEAD.lock'];
/** Branches are shared: another process releases its lock within this time. */
const BRANCH_LOCK_MS = 3_000;

const unlessMissing = (error: unknown): undefined => {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  throw error;
};

export const gitDirOf = (exec: GitExec): Promise<string> => exec.text(['rev-parse', '--absolute-git-dir']);

/** Runs `work` with a temporary index of the whole work tree: with untracked files, without ignored ones. */
export const withAllStaged = async <Result>(
  root: string,
  parts: GitParts,
  gitDir: string,
  work: (exec: GitExec) => Promise<Result>,
): Promise<Result> => {
  const index = join(gitDir, `holdpoint-index-${randomUUID()}`);
  try {
    // Starts from the real index, so that only changed files are read.
    await copyFile(join(gitDir, 'index'), index).catch(unlessMissing);
    const exec = createGitExec(root, { ...parts, env: { ...parts.env, GIT_INDEX_FILE: index } });
    await stageWith(exec, root, 'all');
    return await work(exec);
  } finally {
    await rm(index, { force: true });
    await rm(`${index}.lock`, { force: true });
  }
};

/** The tree of all files of a worktree, committed or not, without ignored ones. */
export const filesTree = async (root: string, parts: GitParts): Promise<string> => {
  const gitDir = await gitDirOf(createGitExec(root, parts));
  return withAllStaged(root, parts, gitDir, (all) => all.text(['write-tree']));
};

const currentHead = async (exec: GitExec): Promise<Pick<SnapshotInfo, 'head' | 'branch'>> => {
  const ref = await exec.text(['symbolic-ref', '--quiet', 'HEAD'], { answers: [0, 1] });
  const head = await exec.text(['rev-parse', '--verify', '--quiet', 'HEAD'], { answers: [0, 1] });
  return { ...(head !== '' && { head }), ...(ref !== '' && { branch: ref }) };
};

/** Keeps HEAD, the index and the files of a worktree under a ref. Returns the id of the snapshot. */
export const takeSnapshot = async (root: string, parts: GitParts, ref: string): Promise<string> => {
  const exec = createGitExec(root, parts);
  const gitDir = await gitDirOf(exec);
  const files = await withAllStaged(root, parts, gitDir, (all) => all.text(['write-tree']));
  const entries = [`040000 tree ${files}\tfiles`];
  for (const name of ['index', ...STATES]) {
    const content = await readFile(join(gitDir, name)).catch(unlessMissing);
    if (content === undefined) continue;
    const blob = await exec.text(['hash-object', '-w', '--stdin'], { stdin: content });
    entries.push(`100644 blob ${blob}\t${name}`);
  }
  const tree = await exec.text(['mktree'], { stdin: `${entries.join('\n')}\n` });
  const at = await currentHead(exec);
  const about: SnapshotInfo = { worktree: root, ...at };
  const parents = at.head === undefined ? [] : ['-p', at.head];
  const commit = await exec.text(['commit-tree', tree, ...parents, '-F', '-'], {
    stdin: JSON.stringify(about),
  });
  await exec.run(['update-ref', '--no-deref', '--', ref, commit]);
  return commit;
};

export const snapshotInfo = async (exec: GitExec, ref: string): Promise<SnapshotInfo> =>
  SnapshotInfo.parse(JSON.parse(await exec.text(['show', '-s', '--format=%B', '--end-of-options', ref])));

/**
 * Restores a worktree from a snapshot: HEAD and its branch, the index, the files. Its present content is kept under
 * `keptRef`. No other process may work in it.
 */
export const restoreSnapshot = async (
  root: string,
  parts: GitParts,
  ref: string,
  keptRef: string,
): Promise<void> => {
  const exec = createGitExec(root, parts);
  const gitDir = await gitDirOf(exec);
  const about = await snapshotInfo(exec, ref);
  await dropOwnLocks(gitDir);
  await takeSnapshot(root, parts, keptRef);
  await restoreHead(exec, about);
  const holds = async (name: string): Promise<Buffer | undefined> => {
    const found = await exec.run(['cat-file', 'blob', `${ref}:${name}`], { answers: [0, 128] });
    return found.exitCode === 0 ? found.stdout : undefined;
  };
  for (const name of STATES) {
    const content = await holds(name);
    await (content === undefined
      ? rm(join(gitDir, name), { force: true })
      : writeFile(join(gitDir, name), content));
  }
  // Twice: files that were ignored show only after the ignore file itself is restored.
  for (let round = 1; round <= 2; round += 1)
    await withAllStaged(root, parts, gitDir, (all) =>
      all.run(['read-tree', '--reset', '-u', `${ref}:files`]),
    );
  await restoreIndex(exec, gitDir, await holds('index'));
};

const dropOwnLocks = async (gitDir: string): Promise<void> => {
  for (const lock of OWN_LOCKS) await rm(join(gitDir, lock), { force: true });
};

/** Removes the locks that a killed start may have left in a worktree. No other process may work in it. */
export const dropLocks = async (root: string, parts: GitParts): Promise<void> => {
  const exec = createGitExec(root, parts);
  await dropOwnLocks(await gitDirOf(exec));
  const { branch } = await currentHead(exec);
  if (branch !== undefined) await unlockBranch(exec, branch);
};

const restoreHead = async (exec: GitExec, { head, branch }: SnapshotInfo): Promise<void> => {
  if (branch === undefined) {
    if (head !== undefined) await exec.run(['update-ref', '--no-deref', '--', 'HEAD', head]);
    return;
  }
  await unlockBranch(exec, branch);
  await exec.run(['symbolic-ref', 'HEAD', branch]);
  if (head === undefined) await exec.run(['update-ref', '-d', '--', branch]);
  else await exec.run(['update-ref', '--', branch, head]);
};

/** A lock that stays belongs to a killed process. */
const unlockBranch = async (exec: GitExec, branch: string): Promise<void> => {
  const lock = `${await exec.text(['rev-parse', '--path-format=absolute', '--git-path', branch])}.lock`;
  for (;;) {
    const since = (await stat(lock).catch(unlessMissing))?.mtimeMs;
    if (since === undefined) return;
    if (Date.now() - since > BRANCH_LOCK_MS) return rm(lock, { force: true });
    await sleep(100);
  }
};

const restoreIndex = async (exec: GitExec, gitDir: string, content: Buffer | undefined): Promise<void> => {
  const path = join(gitDir, 'index');
  if (content === undefined) return rm(path, { force: true });
  await writeFile(`${path}.holdpoint`, content);
  await rename(`${path}.holdpoint`, path);
  // Its file times are outdated; exit code 1 only says that files differ.
  await exec.run(['update-index', '-q', '--refresh'], { answers: [0, 1] });
};

/**
 * A commit of the content that would be lost with a worktree: files that differ from HEAD, or a HEAD without a ref.
 * Undefined when nothing would be lost.
 */
export const keepFiles = async (
  root: string,
  parts: GitParts,
  message: string,
): Promise<string | undefined> => {
  const exec = createGitExec(root, parts);
  const { head } = await currentHead(exec);
  const files = await filesTree(root, parts);
  const committed =
    head === undefined ? undefined : await exec.text(['rev-parse', '--verify', `${head}^{tree}`]);
  if (files === committed && head !== undefined) {
    const refs = await exec.text(['for-each-ref', '--count=1', '--format=%(refname)', `--contains=${head}`]);
    return refs === '' ? head : undefined;
  }
  const parents = head === undefined ? [] : ['-p', head];
  return exec.text(['commit-tree', files, ...parents, '-F', '-'], { stdin: message });
};
