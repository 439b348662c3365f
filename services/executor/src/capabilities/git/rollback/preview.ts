import type { JsonObject } from '@holdpoint/contracts/values/json';
import { z } from 'zod';
import type { Git } from '../../../adapters/git/git.ts';
import { isCommitId } from '../../../adapters/git/ref-name.ts';
import { failed, succeeded } from '../../stage/results.ts';
import type { RunStage } from '../../stage/stage.ts';
import { commitsBetween } from '../commit/commit-list.ts';
import { short } from '../integrate/target.ts';
import { rollbackTarget, whyNot } from './checked-worktree.ts';

const COMMITS_SHOWN_MAX = 50;
const PATHS_SHOWN_MAX = 200;

/** The approved facts: the start and the end of the rollback. */
export const RollbackPreview = z.object({
  head: z.string().refine(isCommitId),
  commit: z.string().refine(isCommitId),
});

const pathsIn = async (git: Git): Promise<readonly string[]> => {
  const entries = await git.status();
  return [...new Set(entries.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from])))];
};

/** Shows the commits and uncommitted changes that a rollback would remove. Changes nothing. */
export const previewRollback: RunStage = async (input, tools) => {
  const place = await rollbackTarget(input, tools);
  const { args, git, head, branch } = place;
  const { commit } = args;
  const problem = await whyNot(place);
  if (problem !== undefined) return failed(problem);
  const commits = await commitsBetween(git, commit, head, COMMITS_SHOWN_MAX);
  const dirty = await pathsIn(git);
  const already = head === commit && dirty.length === 0;
  const outputs: JsonObject = {
    head,
    ...(branch !== undefined && { branch }),
    commit,
    commits: commits.map(({ id, subject }) => ({ id, subject })),
    dirty: dirty.slice(0, PATHS_SHOWN_MAX),
    already,
  };
  const what = already
    ? `already at ${short(commit)}, without changes`
    : `would roll back from ${short(head)} to ${short(commit)}; ${String(commits.length)} commits and ${String(dirty.length)} changed files would be kept under a ref`;
  return succeeded(what, { outputs });
};
