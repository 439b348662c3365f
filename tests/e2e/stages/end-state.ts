import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { jobsOf, viewOf } from '../../conformance/support/runs.ts';
import type { Repository } from '../../conformance/support/repository.ts';
import { until } from '../../kit/until.ts';

type RunStanding = {
  readonly outcome: string | undefined;
  readonly jobs: Readonly<Record<string, string>>;
};

/** The state that must be equal, regardless of the kills. */
export type Standing = {
  readonly runs: Readonly<Record<string, RunStanding>>;
  /** The commits of the target branch with their full messages, newest first. */
  readonly commits: readonly string[];
  /** The files of the target branch, with mode and id. */
  readonly files: string;
  /** The output of the agent for each run. */
  readonly replies: Readonly<Record<string, string>>;
  readonly branches: string;
  /** Records of steps that may need a rollback. */
  readonly attempts: string;
  readonly worktrees: readonly string[];
  readonly status: string;
  readonly problems: string;
  /** Lock files of git. */
  readonly locks: readonly string[];
  readonly processes: readonly string[];
};

const REPLIES = ['greeting.txt', 'greet.runs', 'part.runs', 'part.txt'] as const;
const NOTHING_LEFT_WITHIN_MS = 10_000;

/** The processes that work in the repository or in one of its worktrees. */
const processesIn = async (root: string): Promise<readonly string[]> => {
  if (process.platform !== 'linux') return [];
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const places = await Promise.all(
    // The process may have ended, or belong to another user.
    pids.map((pid) => readlink(join('/proc', pid, 'cwd')).catch(() => '')),
  );
  return pids.filter((_, at) => places[at] === root || places[at]?.startsWith(`${root}/`) === true);
};

const untilNoProcessWorks = async (root: string): Promise<readonly string[]> => {
  const none = async () => ((await processesIn(root)).length === 0 ? [] : undefined);
  return until('no process works in the repository', none, NOTHING_LEFT_WITHIN_MS).catch(() =>
    processesIn(root),
  );
};

const runOf = async ({ stack }: Repository, run: string): Promise<readonly [string, RunStanding]> => {
  const view = await until(`run ${run} is shown`, () => viewOf(stack, run));
  return [run, { outcome: view.outcome, jobs: jobsOf(view) }];
};

export const standingOf = async (repository: Repository, runs: readonly string[]): Promise<Standing> => {
  const { git, root } = repository;
  const processes = await untilNoProcessWorks(root);
  const inGit = await readdir(join(root, '.git'), { recursive: true });
  return {
    runs: Object.fromEntries(await Promise.all(runs.map((run) => runOf(repository, run)))),
    commits: git('log', '-z', '--format=%B', 'main')
      .split('\0')
      .map((text) => text.trim())
      .filter((text) => text !== ''),
    files: git('ls-tree', '-r', 'main'),
    replies: Object.fromEntries(REPLIES.map((file) => [file, git('show', `main:${file}`)])),
    attempts: git('for-each-ref', 'refs/holdpoint/attempts'),
    branches: git('branch', '--list', '--format=%(refname)'),
    worktrees: await readdir(join(root, '.holdpoint', 'worktrees')),
    status: git('status', '--porcelain'),
    problems: git('fsck', '--no-dangling', '--no-progress'),
    locks: inGit.filter((path) => path.endsWith('.lock')),
    processes,
  };
};
