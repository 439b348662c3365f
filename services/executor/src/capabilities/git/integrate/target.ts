import { errorBody } from '@holdpoint/contracts/values/errors';
import type { StepInput } from '@holdpoint/contracts/task/step';
import type { Git } from '../../../adapters/git/git.ts';
import { GitError, GitStopped } from '../../../adapters/git/git-error.ts';
import { branchRef } from '../../../adapters/git/ref-name.ts';
import { CleanFailure } from '../../../ports/capability.ts';
import { invalid } from '../../stage/arguments.ts';
import type { StageTools } from '../../stage/tools.ts';
import type { Move } from '../branches/checkout.ts';
import { MergePreview } from './preview.ts';

export const short = (commit: string | undefined): string => commit?.slice(0, 12) ?? 'gone';

export const refused = (problem: string): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_TARGET_REFUSED', problem));

export const moved = (branch: string, from: string, to: string | undefined): CleanFailure =>
  refused(`${branch} moved since it was approved: from ${short(from)} to ${short(to)}`);

export const previewIn = (input: StepInput): MergePreview => {
  const parsed = MergePreview.safeParse(input.preview);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    ({ path, message }) => `${['preview', ...path].join('.')}: ${message}`,
  );
  throw invalid(problems.join('; '));
};

/** Turns a git error before any change into a clean failure. */
export const asClean = (error: unknown): unknown => {
  if (error instanceof GitStopped)
    return new CleanFailure(errorBody('EXECUTOR_CANCELLED', 'cancelled before anything happened'), error);
  return error instanceof GitError
    ? new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', error.message), error)
    : error;
};

/** Until the target is moved nothing has happened: all failures are clean. */
export const cleanly = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    throw asClean(error);
  }
};

/** Moves a branch to a deterministic commit. A branch that is there already counts as moved. */
export const moveTarget = async (tools: StageTools, git: Git, { branch, from, to }: Move): Promise<void> => {
  tools.assertInForce();
  if (await git.updateRef(branchRef(branch), to, from)) return;
  const at = await git.tip(branch);
  if (at !== to) throw moved(branch, from, at);
};
