import { AttemptReport } from '@holdpoint/contracts/workflow/attempt';
import { filesTree } from '../../adapters/git/snapshot.ts';
import { orWarn } from '../or-warn.ts';
import type { StageTools } from '../stage.ts';

const FILES_MAX = 200;
const { element: Path } = AttemptReport.shape.files.unwrap();

/** What an agent does to a worktree is worth knowing. */
const WHAT = 'which files have changed';

/**
 * Notes how a task's worktree is, and says later which files are not so any more, committed or not. In a checkout that others
 * work in as well nothing is said.
 */
export const watchFiles = async (
  tools: StageTools,
): Promise<() => Promise<readonly string[] | undefined>> => {
  const { inWorktree, root, gitParts } = tools;
  const tree = (): Promise<string | undefined> => orWarn(tools, WHAT, () => filesTree(root, gitParts));
  const before = inWorktree ? await tree() : undefined;
  return async () => {
    const after = before === undefined ? undefined : await tree();
    if (before === undefined || after === undefined) return undefined;
    const argv = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', before, after, '--'];
    const changed = await orWarn(tools, WHAT, () => tools.git().list(argv));
    return changed?.filter((path) => Path.safeParse(path).success).slice(0, FILES_MAX);
  };
};
