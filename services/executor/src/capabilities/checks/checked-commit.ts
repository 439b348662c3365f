import type { StepResult } from '@holdpoint/contracts/task/step';
import { orWarn } from '../stage/or-warn.ts';
import { isOurs } from '../repository/inspect.ts';
import type { StageTools } from '../stage/tools.ts';

/** Adds the commit that passed a check: a rollback may target it. */
export const withCommit = (result: StepResult, commit: string | undefined): StepResult =>
  result.outcome === 'succeeded'
    ? {
        ...result,
        outputs: { ...result.outputs, clean: commit !== undefined, ...(commit !== undefined && { commit }) },
      }
    : result;

type CheckoutState = {
  readonly commit: string | undefined;
  readonly changed: boolean;
  readonly new: boolean;
};

/** The HEAD and the changes of a checkout; undefined when git cannot tell. The check passes without it. */
const look = (tools: StageTools): Promise<CheckoutState | undefined> =>
  orWarn(tools, 'which commit is checked', async () => {
    const git = tools.git();
    const { commit } = await git.head();
    const entries = (await git.status()).filter(({ path }) => !isOurs(path));
    const isNew = ({ code }: { readonly code: string }): boolean => code === '??';
    return { commit, changed: !entries.every(isNew), new: entries.some(isNew) };
  });

/**
 * Records HEAD before a check, and adds it to the result of a passed check. Left out if files were changed before,
 * or HEAD or tracked files have changed since; new files may come from the check itself.
 */
export const recordCommit = async (
  tools: StageTools,
): Promise<(result: StepResult) => Promise<StepResult>> => {
  const before = await look(tools);
  return async (result) => {
    if (before === undefined || result.outcome !== 'succeeded') return result;
    const after = await look(tools);
    if (after === undefined) return result;
    const same = after.commit === before.commit && !before.changed && !before.new && !after.changed;
    return withCommit(result, same ? before.commit : undefined);
  };
};
