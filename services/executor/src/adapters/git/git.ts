import type { Repository } from './repositories.ts';
import { createGitExec, type GitExec, type GitParts } from './exec.ts';
import { GitError } from './git-error.ts';
import { branchRef, isCommitId } from './ref-name.ts';
import { commitWith, stageWith, statusOf, type StatusEntry } from './staging.ts';
import { worktreesOf, type WorktreeEntry } from './worktrees.ts';

/** Where a work tree stands. A branch without a commit has none yet. */
export type Head = { readonly commit: string | undefined; readonly branch: string | undefined };

export type NewCommit = {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
};

/** Beside what is named here, `run` does anything else: it throws `GitError` when the exit code is none of the answers. */
export type Git = GitExec & {
  /** The work tree that it works in. */
  readonly root: string;
  readonly head: () => Promise<Head>;
  /** The commit that a branch is at. */
  readonly tip: (branch: string) => Promise<string | undefined>;
  readonly branchExists: (branch: string) => Promise<boolean>;
  /** The commit that a full ref name or an id stands for. */
  readonly commitOf: (ref: string) => Promise<string | undefined>;
  /** Makes a branch at a commit, or at HEAD; false when there is one of that name already. */
  readonly createBranch: (branch: string, at?: string) => Promise<boolean>;
  /** Deletes a branch that is still at a commit; false when it is not. */
  readonly deleteBranch: (branch: string, at: string) => Promise<boolean>;
  /** Compare-and-swap of a full ref name: `from` undefined means that there must be none. False when it is elsewhere. */
  readonly updateRef: (ref: string, to: string, from: string | undefined) => Promise<boolean>;
  readonly deleteRef: (ref: string) => Promise<void>;
  readonly refs: (prefix: string) => Promise<readonly { readonly ref: string; readonly id: string }[]>;
  readonly isAncestor: (ancestor: string, commit: string) => Promise<boolean>;
  readonly treeOf: (commit: string) => Promise<string>;
  /** A file as a commit has it. */
  readonly fileAt: (commit: string, path: string) => Promise<Buffer | undefined>;
  readonly commitTree: (commit: NewCommit) => Promise<string>;
  /** Merges two commits without a work tree. Paths that conflict are named. */
  readonly mergeTree: (ours: string, theirs: string) => Promise<Merged>;
  /** What differs between two commits: one line for each file, and a line for all. */
  readonly diffstat: (from: string, to: string) => Promise<string>;
  readonly status: () => Promise<readonly StatusEntry[]>;
  /** Stages paths, or everything that has changed. `force`: though they are ignored. */
  readonly stage: (paths: readonly string[] | 'all', options?: { readonly force?: boolean }) => Promise<void>;
  /** Commits what is staged, with exactly this message; `undefined` when nothing is. */
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

/** Git in a repository, or in one of its worktrees when `root` names one. */
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
      // Somebody was faster, which is an answer; anything else is not.
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
    status: () => statusOf(exec),
    stage: (paths, options) => stageWith(exec, root, paths, options),
    commit: (message) => commitWith(exec, message),
    ...worktreesOf(exec, parts),
  };
};

/** What merging two commits gives. The tree of a conflict holds files with conflict markers. */
export type Merged = {
  readonly tree: string;
  readonly conflicts: readonly string[];
  /** What git says about it, for people. */
  readonly messages: string;
};

const CONFLICT = 1;

/** Merges without a work tree and without an index, so that nothing has to be put back when it conflicts. */
export const mergeTreeWith = async ({ run }: GitExec, ours: string, theirs: string): Promise<Merged> => {
  const { exitCode, stdout } = await run(
    ['merge-tree', '--write-tree', '-z', '--name-only', '--messages', '--', ours, theirs],
    { answers: [0, CONFLICT] },
  );
  const [tree = '', ...rest] = stdout.toString('utf8').split('\0');
  const end = rest.indexOf('');
  const conflicts = exitCode === CONFLICT ? rest.slice(0, end) : [];
  return { tree, conflicts: [...new Set(conflicts)], messages: messagesIn(rest.slice(end + 1)) };
};

/** Each is a number of paths, the paths, a kind, and the text. */
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
