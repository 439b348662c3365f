import { copyFile, lstat, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Git } from '../../../adapters/git/git.ts';
import { GitError } from '../../../adapters/git/git-error.ts';
import { branchRef } from '../../../adapters/git/ref-name.ts';
import { refuseFilters } from '../../../adapters/git/staging.ts';
import { CleanFailure } from '../../../ports/capability.ts';
import { changesBetween, type FileChange, isBetween } from './changes.ts';
import type { StageTools } from '../../stage/tools.ts';

const NAMED_MAX = 5;
const UNDER_WAY = [
  'index.lock',
  'MERGE_HEAD',
  'CHERRY_PICK_HEAD',
  'REVERT_HEAD',
  'rebase-merge',
  'rebase-apply',
] as const;
const NOT_OURS = 'it does not belong to this repository';
const REFUSED = 128;

const some = (paths: readonly string[]): string =>
  paths.length > NAMED_MAX
    ? `${paths.slice(0, NAMED_MAX).join(', ')} and ${String(paths.length - NAMED_MAX)} more`
    : paths.join(', ');

/** A branch, and the commits to move it between. */
export type Move = { readonly branch: string; readonly from: string; readonly to: string };

/** The checkouts of a branch: the main one and worktrees, including those of users. */
export const checkoutsOf = async (tools: StageTools, branch: string): Promise<readonly string[]> => {
  const entries = await tools.git(tools.repository.root).worktreeList();
  return entries.filter((entry) => entry.branch === branch && !entry.prunable).map(({ path }) => path);
};

/**
 * Git's folder of a checkout. Worktree registrations can be forged: git in that folder must belong to the same
 * repository, else undefined.
 */
export const gitFolder = async ({ repository }: StageTools, git: Git): Promise<string | undefined> => {
  const said = await git.text(['rev-parse', '--path-format=absolute', '--git-common-dir', '--git-dir']);
  const [common = '', own = ''] = said.split('\n');
  return (await realpath(common)) === repository.commonDir ? own : undefined;
};

const isThere = async (...path: readonly string[]): Promise<boolean> =>
  (await lstat(join(...path)).catch(() => undefined)) !== undefined;

const underWay = async (folder: string): Promise<string | undefined> => {
  const there = await Promise.all(UNDER_WAY.map((name) => isThere(folder, name)));
  return UNDER_WAY.find((_, index) => there[index]);
};

const inTheWay = async (git: Git, changes: readonly FileChange[]): Promise<readonly string[]> => {
  const added = changes.filter(({ from }) => from === undefined).map(({ path }) => path);
  const there = await Promise.all(added.map((path) => isThere(git.root, path)));
  return added.filter((_, index) => there[index]);
};

/** The objection of git to an update, computed on a copy of the index. */
const refusal = async (git: Git, index: string, { from, to }: Move): Promise<string | undefined> => {
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-index-'));
  try {
    const copy = join(folder, 'index');
    await copyFile(index, copy);
    const env = { GIT_INDEX_FILE: copy };
    await git.run(['update-index', '-q', '--refresh'], { env, answers: [0, 1] });
    const argv = ['read-tree', '--dry-run', '-m', '-u', from, to];
    const { exitCode, stderr } = await git.run(argv, { env, answers: [0, REFUSED] });
    return exitCode === 0 ? undefined : stderr.trim();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const obstacleIn = async (tools: StageTools, path: string, move: Move): Promise<string | undefined> => {
  const git = tools.git(path);
  const folder = await gitFolder(tools, git);
  if (folder === undefined) return NOT_OURS;
  const name = await underWay(folder);
  if (name !== undefined) return `another operation is in progress (${name})`;
  const changed = (await git.status()).filter(({ code }) => code !== '??').map((entry) => entry.path);
  if (changed.length > 0) return `it has uncommitted changes: ${some(changed)}`;
  const changes = await changesBetween(git, move.from, move.to);
  const lost = await inTheWay(git, changes);
  if (lost.length > 0) return `untracked files would be overwritten: ${some(lost)}`;
  const paths = changes.map((change) => change.path);
  await refuseFilters(git, paths);
  return refusal(git, join(folder, 'index'), move);
};

const reasonOf = (error: unknown): string => {
  if (error instanceof CleanFailure || error instanceof GitError) return error.message;
  throw error;
};

/** Why a checked-out branch cannot be moved without losing changes, for users; undefined when it can. */
export const obstacleTo = async (tools: StageTools, move: Move): Promise<string | undefined> => {
  for (const path of await checkoutsOf(tools, move.branch)) {
    const why = await obstacleIn(tools, path, move).catch(reasonOf);
    if (why !== undefined) return `${move.branch} is checked out at ${path}, which cannot be updated: ${why}`;
  }
  return undefined;
};

const follow = async (tools: StageTools, path: string, { from, to }: Move): Promise<string | undefined> => {
  const git = tools.git(path);
  if ((await gitFolder(tools, git)) === undefined) return NOT_OURS;
  if ((await git.head()).commit !== to) return 'it has moved on';
  await git.run(['update-index', '-q', '--refresh'], { answers: [0, 1] });
  const { exitCode, stderr } = await git.run(['read-tree', '-m', '-u', from, to], { answers: [0, REFUSED] });
  if (exitCode === 0) return undefined;
  // An interrupted update leaves files of both commits.
  if (!(await isBetween(git, from, to))) return stderr.trim();
  await git.run(['read-tree', '--reset', '-u', to]);
  return undefined;
};

/**
 * Updates the checkouts of a moved branch, and finishes interrupted updates. Returns notes about checkouts that were
 * changed in the meantime and are left alone.
 */
export const followMove = async (tools: StageTools, move: Move): Promise<readonly string[]> => {
  const notes: string[] = [];
  for (const path of await checkoutsOf(tools, move.branch)) {
    const why = await follow(tools, path, move).catch(reasonOf);
    if (why !== undefined) notes.push(`the checkout at ${path} was not updated: ${why}`);
  }
  return notes;
};

export type MoveResult =
  | { readonly moved: true; readonly notes: readonly string[] }
  | { readonly moved: false; readonly why: string };

/** Moves a branch and its checkouts, unless it has moved or a checkout cannot follow. */
export const moveBranch = async (tools: StageTools, move: Move): Promise<MoveResult> => {
  const why = await obstacleTo(tools, move);
  if (why !== undefined) return { moved: false, why };
  const git = tools.git(tools.repository.root);
  if (!(await git.updateRef(branchRef(move.branch), move.to, move.from))) {
    return { moved: false, why: `${move.branch} has moved in the meantime` };
  }
  return { moved: true, notes: await followMove(tools, move) };
};
