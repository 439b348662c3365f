import type { Repository } from './repositories.ts';
import { createGitExec, type GitExec, type GitParts } from './exec.ts';
import { GitError } from './git-error.ts';
import { branchRef, isCommitId } from './ref-name.ts';
import { commitWith, stageWith, statusOf, type StatusEntry } from './staging.ts';
import { worktreesOf, type WorktreeEntry } from './worktrees.ts';

/** The HEAD of a work tree. A branch without a commit has no commit id. */
export type Head = { readonly commit: string | undefined; readonly branch: string | undefined };

export type NewCommit = {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
};

/** `run` covers all other commands. It throws `GitError` on an exit code that is not listed in `answers`. */
export type Git = GitExec & {
  readonly root: string;
  readonly head: () => Promise<Head>;
  readonly tip: (branch: string) => Promise<string | undefined>;
  readonly branchExists: (branch: string) => Promise<boolean>;
  /** The commit of a full ref name or an id. */
  readonly commitOf: (ref: string) => Promise<string | undefined>;
  /** Creates a branch at a commit, or at HEAD; false when the name is taken. */
  readonly createBranch: (branch: string, at?: string) => Promise<boolean>;
  /** Deletes a branch that is still at this commit; false otherwise. */
  readonly deleteBranch: (branch: string, at: string) => Promise<boolean>;
  /** Compare-and-swap of a full ref name: with `from` undefined the ref must not exist. False when it is elsewhere. */
  readonly updateRef: (ref: string, to: string, from: string | undefined) => Promise<boolean>;
  readonly deleteRef: (ref: string) => Promise<void>;
  readonly refs: (prefix: string) => Promise<readonly { readonly ref: string; readonly id: string }[]>;
  readonly isAncestor: (ancestor: string, commit: string) => Promise<boolean>;
  readonly treeOf: (commit: string) => Promise<string>;
  /** A file of a commit. */
  readonly fileAt: (commit: string, path: string) => Promise<Buffer | undefined>;
  readonly commitTree: (commit: NewCommit) => Promise<string>;
  /** Merges two commits without a work tree. Names conflicting paths. */
  readonly mergeTree: (ours: string, theirs: string) => Promise<MergedTree>;
  /** The differences of two commits: one line for each file, and a total. */
  readonly diffstat: (from: string, to: string) => Promise<string>;
  /** The differences of two commits as a patch. Throws `GitError` beyond 64 MiB. */
  readonly patch: (from: string, to: string) => Promise<string>;
  readonly status: () => Promise<readonly StatusEntry[]>;
  /** Stages paths, or all changes. `force`: ignored files as well. */
  readonly stage: (paths: readonly string[] | 'all', options?: { readonly force?: boolean }) => Promise<void>;
  /** Commits the index with exactly this message; undefined when nothing is staged. */
  readonly commit: (message: string) => Promise<string | undefined>;
  readonly worktreeAdd: (
    path: string,
    at: { readonly branch: string } | { readonly commit: string },
  ) => Promise<void>;
  readonly worktreeRemove: (path: string) => Promise<void>;
  readonly worktreeList: () => Promise<readonly WorktreeEntry[]>;
  readonly worktreePrune: () => Promise<void>;
};

const NO_OBJECT = 128;

/** Git in a repository, or in its worktree `root`. */
export const createGit = (
  repository: Pick<Repository, 'root'>,
  parts: GitParts,
  root: string = repository.root,
): Git => {
  const exec = createGitExec(root, parts);
  const { run, text } = exec;

  const commitOf = async (ref: string): Promise<string | undefined> => {
    const argv = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`];
    const found = await text(argv, { answers: [0, 1] });
    return isCommitId(found) ? found : undefined;
  };
  const updateRef: Git['updateRef'] = async (ref, to, from) => {
    if ((await commitOf(ref)) !== from) return false;
    try {
      await run(['update-ref', '--no-deref', '--', ref, to, from ?? '0'.repeat(to.length)]);
      return true;
    } catch (error) {
      // Another process moved the ref first: that is the answer `false`.
      if (error instanceof GitError && (await commitOf(ref)) !== from) return false;
      throw error;
    }
  };
  return {
    root,
    ...exec,
    head: async () => {
      const ref = await text(['symbolic-ref', '--quiet', 'HEAD'], { answers: [0, 1] });
      return {
        commit: await commitOf('HEAD'),
        branch: ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : undefined,
      };
    },
    commitOf,
    tip: async (branch) => commitOf(branchRef(branch)),
    branchExists: async (branch) => (await commitOf(branchRef(branch))) !== undefined,
    createBranch: async (branch, at) => {
      const ref = branchRef(branch);
      const commit = await commitOf(at ?? 'HEAD');
      if (commit === undefined)
        throw new GitError('branch', undefined, `there is no commit ${at ?? 'yet'} to make ${branch} from`);
      return updateRef(ref, commit, undefined);
    },
    deleteBranch: async (branch, at) => {
      const ref = branchRef(branch);
      if ((await commitOf(ref)) !== at) return false;
      await run(['update-ref', '--no-deref', '-d', '--', ref, at]);
      return true;
    },
    updateRef,
    deleteRef: async (ref) => void (await run(['update-ref', '--no-deref', '-d', '--', ref])),
    refs: async (prefix) => {
      const lines = await text(['for-each-ref', '--format=%(objectname) %(refname)', '--', prefix]);
      return lines
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => ({ id: line.slice(0, line.indexOf(' ')), ref: line.slice(line.indexOf(' ') + 1) }));
    },
    isAncestor: async (ancestor, commit) =>
      (await run(['merge-base', '--is-ancestor', '--end-of-options', ancestor, commit], { answers: [0, 1] }))
        .exitCode === 0,
    treeOf: (commit) => text(['rev-parse', '--verify', '--end-of-options', `${commit}^{tree}`]),
    fileAt: async (commit, path) => {
      const found = await run(['cat-file', 'blob', `${commit}:${path}`], { answers: [0, NO_OBJECT] });
      return found.exitCode === 0 ? found.stdout : undefined;
    },
    commitTree: ({ tree, parents, message }) =>
      text(['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent]), '-F', '-'], {
        stdin: message,
      }),
    mergeTree: (ours, theirs) => mergeTreeWith(exec, ours, theirs),
    diffstat: (from, to) =>
      text(['diff', '--no-ext-diff', '--no-textconv', '--stat=100', '--end-of-options', from, to, '--']),
    patch: (from, to) =>
      text(['diff', '--no-ext-diff', '--no-textconv', '--no-color', '--end-of-options', from, to, '--']),
    status: () => statusOf(exec),
    stage: (paths, options) => stageWith(exec, root, paths, options),
    commit: (message) => commitWith(exec, message),
    ...worktreesOf(exec, parts),
  };
};

/** The result of a merge. The tree of a conflict contains conflict markers. */
export type MergedTree = {
  readonly tree: string;
  readonly conflicts: readonly string[];
  /** Messages of git, for users. */
  readonly messages: string;
};

const CONFLICT = 1;

/** Merges without a work tree and an index, so that a conflict leaves nothing to clean up. */
export const mergeTreeWith = async ({ run }: GitExec, ours: string, theirs: string): Promise<MergedTree> => {
  const { exitCode, stdout } = await run(
    ['merge-tree', '--write-tree', '-z', '--name-only', '--messages', '--', ours, theirs],
    { answers: [0, CONFLICT] },
  );
  const [tree = '', ...rest] = stdout.toString('utf8').split('\0');
  const end = rest.indexOf('');
  const conflicts = exitCode === CONFLICT ? rest.slice(0, end) : [];
  return { tree, conflicts: [...new Set(conflicts)], messages: messagesIn(rest.slice(end + 1)) };
};

/** Format of each message: the number of paths, the paths, the kind, the text. */
const messagesIn = (fields: readonly string[]): string => {
  const texts: string[] = [];
  for (let at = 0; at < fields.length;) {
    const paths = Number(fields[at]);
    if (!Number.isInteger(paths) || fields[at] === '') break;
    texts.push((fields[at + paths + 2] ?? '').trimEnd());
    at += paths + 3;
  }
  return texts.join('\n');
};
