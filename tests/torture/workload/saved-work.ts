import { run } from '@holdpoint/infra/local/run';

const WITHIN_MS = 30_000;
const PREFIX = 'refs/holdpoint/saved/';
/** More commits than a worktree of a run can have. */
const COMMITS_MAX = 200;

/** Commits and files that a rollback saved. */
export type SavedWork = {
  /** `<task>/<node>/<attempt>` and a number. */
  readonly name: string;
  /** The commit and its ancestors. */
  readonly commits: readonly string[];
  readonly files: readonly string[];
};

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');

export const readSavedWork = async (root: string): Promise<readonly SavedWork[]> => {
  const git = (...words: readonly string[]): Promise<string> =>
    run('git', ['-C', root, ...words], { timeoutMs: WITHIN_MS });
  const refs = linesOf(await git('for-each-ref', '--format=%(refname)', PREFIX));
  const saved: SavedWork[] = [];
  for (const ref of refs)
    saved.push({
      name: ref.slice(PREFIX.length),
      commits: linesOf(await git('rev-list', `--max-count=${String(COMMITS_MAX)}`, ref)),
      files: linesOf(await git('ls-tree', '-r', '--name-only', ref)),
    });
  return saved;
};
