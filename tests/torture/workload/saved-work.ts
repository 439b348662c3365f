import { run } from '@holdpoint/infra/local/run';

const WITHIN_MS = 30_000;
const PREFIX = 'refs/holdpoint/saved/';
/** A worktree of a run never gets further than this. */
const COMMITS_MAX = 200;

/** What was kept when a worktree went back. */
export type SavedWork = {
  /** `<task>/<node>/<attempt>`, and a number. */
  readonly name: string;
  /** It, and those before it. */
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
