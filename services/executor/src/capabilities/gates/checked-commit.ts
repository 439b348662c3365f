import type { StepResult } from '@holdpoint/contracts/task/step';
import { orWarn } from '../or-warn.ts';
import { isOurs } from '../repository/inspect.ts';
import type { StageTools } from '../stage.ts';

/** Says which commit a check has passed on: one that may be gone back to. */
export const withCommit = (result: StepResult, commit: string | undefined): StepResult =>
  result.outcome === 'succeeded'
    ? {
        ...result,
        outputs: { ...result.outputs, clean: commit !== undefined, ...(commit !== undefined && { commit }) },
      }
    : result;

type Seen = { readonly commit: string | undefined; readonly changed: boolean; readonly new: boolean };

/** How a checkout stands. A check passes without this: where git cannot tell, nothing is said. */
const look = (tools: StageTools): Promise<Seen | undefined> =>
  orWarn(tools, 'which commit is checked', async () => {
    const git = tools.git();
    const { commit } = await git.head();
    const entries = (await git.status()).filter(({ path }) => !isOurs(path));
    const isNew = ({ code }: { readonly code: string }): boolean => code === '??';
    return { commit, changed: !entries.every(isNew), new: entries.some(isNew) };
  });

/**
 * Notes what a check is about to look at, and adds that to its result when it has passed. It is a commit when nothing was
 * changed before, and neither that nor any file of it has changed since; new files may be what the check itself has made.
 */
export const noteCommit = async (tools: StageTools): Promise<(result: StepResult) => Promise<StepResult>> => {
  const before = await look(tools);
  return async (result) => {
    if (before === undefined || result.outcome !== 'succeeded') return result;
    const after = await look(tools);
    if (after === undefined) return result;
    const same = after.commit === before.commit && !before.changed && !before.new && !after.changed;
    return withCommit(result, same ? before.commit : undefined);
  };
};
