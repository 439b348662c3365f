import { copyFile, lstat, mkdtemp, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256Of } from '@holdpoint/contracts/values/json';
import type { Git } from '../../adapters/git/git.ts';
import { editTree, type TreeEdit } from '../git/branches/tree.ts';

/** A work tree with a stopped merge, before the agent works on it. */
export type StoppedMerge = {
  readonly git: Git;
  readonly ours: string;
  readonly theirs: string;
  /** The tree of the merged files, without conflicting ones. */
  readonly tree: string;
  readonly files: readonly ConflictFile[];
};

export type ConflictFile = {
  readonly path: string;
  /** The hash of the file that git left; undefined when it left none. */
  readonly left: string | undefined;
  /** Neither side has the file. */
  readonly goneOnBoth: boolean;
};

// A label follows a space; attributes can make markers longer.
const MARKER = /^(<{7,}|>{7,}|\|{7,})( |\r?$)/gm;

const readOf = async (path: string): Promise<Buffer | undefined> => {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSymbolicLink() === true) return readlink(path, 'buffer');
  // A folder has replaced the file.
  return found?.isFile() === true ? readFile(path) : undefined;
};

const known = async (path: string): Promise<string | undefined> => {
  const content = await readOf(path);
  return content === undefined ? undefined : sha256Of(content);
};

const stagesIn = async (git: Git): Promise<ReadonlyMap<string, readonly string[]>> => {
  const stages = new Map<string, string[]>();
  for (const entry of await git.list(['ls-files', '-z', '--unmerged'])) {
    const end = entry.indexOf('\t');
    const [stage, path] = [entry.slice(end - 1, end), entry.slice(end + 1)];
    stages.set(path, [...(stages.get(path) ?? []), stage]);
  }
  return stages;
};

/** The tree of the index without conflicting files. */
const mergedByGit = async (git: Git, conflicts: readonly string[]): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-index-'));
  try {
    const copy = join(folder, 'index');
    await copyFile(await git.text(['rev-parse', '--path-format=absolute', '--git-path', 'index']), copy);
    const env = { GIT_INDEX_FILE: copy };
    const stdin = conflicts.map((path) => `${path}\0`).join('');
    await git.run(['update-index', '--force-remove', '-z', '--stdin'], { env, stdin });
    return await git.text(['write-tree'], { env });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** Records a stopped merge, before an agent works on it. */
export const recordStoppedMerge = async (git: Git, ours: string, theirs: string): Promise<StoppedMerge> => {
  const stages = await stagesIn(git);
  const files = await Promise.all(
    [...stages].map(async ([path, numbers]) => ({
      path,
      left: await known(join(git.root, path)),
      goneOnBoth: numbers.every((stage) => stage === '1'),
    })),
  );
  return { git, ours, theirs, tree: await mergedByGit(git, [...stages.keys()]), files };
};

const markersIn = (content: Buffer | undefined): number =>
  content === undefined ? 0 : (content.toString('latin1').match(MARKER) ?? []).length;

/** Files may contain conflict markers as text: only more markers than on either side count. */
const hasMarkers = async ({ git, ours, theirs }: StoppedMerge, path: string): Promise<boolean> => {
  const now = markersIn(await readOf(join(git.root, path)));
  if (now === 0) return false;
  const sides = await Promise.all([git.fileAt(ours, path), git.fileAt(theirs, path)]);
  return now > Math.max(...sides.map(markersIn));
};

/** After an aborted merge the work tree is clean, and has nothing of the other side. */
const isAborted = async ({ git, ours, theirs }: StoppedMerge): Promise<boolean> => {
  if ((await git.commitOf('MERGE_HEAD')) === theirs) return false;
  const { commit } = await git.head();
  return commit === undefined || commit === ours || !(await git.isAncestor(theirs, commit));
};

/** The unresolved files. A resolved file has no markers, and was changed or staged. */
export const unresolvedIn = async (stopped: StoppedMerge): Promise<readonly string[]> => {
  if (await isAborted(stopped)) return stopped.files.map(({ path }) => path);
  const unstaged = await stagesIn(stopped.git);
  const unresolved: string[] = [];
  for (const { path, left, goneOnBoth } of stopped.files) {
    const touched = !unstaged.has(path) || (await known(join(stopped.git.root, path))) !== left;
    if ((!touched && !goneOnBoth) || (await hasMarkers(stopped, path))) unresolved.push(path);
  }
  return unresolved;
};

const editFor = async (git: Git, path: string): Promise<TreeEdit> => {
  const place = join(git.root, path);
  const found = await lstat(place).catch(() => undefined);
  if (found?.isSymbolicLink() === true) {
    const stdin = await readlink(place, 'buffer');
    return {
      path,
      file: { mode: '120000', id: await git.text(['hash-object', '-w', '--stdin'], { stdin }) },
    };
  }
  if (found?.isFile() !== true) return { path, file: undefined };
  const mode = (found.mode & 0o100) === 0 ? '100644' : '100755';
  return { path, file: { mode, id: await git.text(['hash-object', '-w', '--', path]) } };
};

/** The tree of the merged files, without conflicting ones. */
export const resolvedTree = async ({ git, tree, files }: StoppedMerge): Promise<string> => {
  const edits: TreeEdit[] = [];
  for (const { path } of files) edits.push(await editFor(git, path));
  return editTree(git, tree, edits);
};
