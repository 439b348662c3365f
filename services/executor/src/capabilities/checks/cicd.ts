import type { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import { isCommitId } from '../../adapters/git/ref-name.ts';
import { endOf, outputsOf, resultOf, runScript, type ScriptRun, tookSoLong } from '../shell/run-script.ts';
import { invalid } from '../stage/arguments.ts';
import type { RunStage, StageModule } from '../stage/stage.ts';
import type { StageTools } from '../stage/tools.ts';
import { succeeded } from '../stage/results.ts';
import { WORKTREES } from '../stage/worktree.ts';
import { recordCommit, withCommit } from './checked-commit.ts';
import { NO_GATE } from './stop-condition.ts';
import { keepOutOfStatus } from '../worktree/prepare.ts';

/** Runs the checks, and once the fix script when they fail. */
const checkGate: RunStage = async (input, tools) => {
  const script = input.script?.trim() === '' ? undefined : input.script;
  if (script === undefined) return succeeded(NO_GATE);
  const { commit } = input.context;
  if (tools.inWorktree || commit === undefined) return checkHere(script, input, tools);
  if (!isCommitId(commit)) throw invalid(`context.commit: ${JSON.stringify(commit)} is not a commit id`);
  return checkCommit(script, input, tools, commit);
};

export const cicdGate: StageModule = { uses: 'control.gate.cicd', run: checkGate, startsProcess: true };

/** Checks the present files: those of a commit if nothing has changed since. */
const checkHere = async (script: string, input: StepInput, tools: StageTools): Promise<StepResult> => {
  const checkedAt = await recordCommit(tools);
  const { result, mended: fixed } = await check(script, input, tools, tools.root);
  return fixed ? withCommit(result, undefined) : checkedAt(result);
};

type CheckRun = { readonly result: StepResult; readonly mended: boolean };

const check = async (
  script: string,
  { fixScript, autoResolve, timeoutMs }: StepInput,
  tools: StageTools,
  cwd: string,
): Promise<CheckRun> => {
  const options = { cwd, timeoutMs };
  const first = await runScript(tools, script, options);
  const fix = autoResolve === false || fixScript?.trim() === '' ? undefined : fixScript;
  const red = first.result.exitCode !== 0 && !first.result.cancelled;
  if (!red || fix === undefined) return { result: resultOf(first, 'the checks'), mended: false };
  tools.log('stderr', 'the checks failed: running the fix script, then the checks again');
  const fixed = await runScript(tools, fix, options);
  if (fixed.result.cancelled) return { result: resultOf(fixed, 'the fix script'), mended: true };
  return { result: await checkAgain(first, fixed, script, tools, options), mended: true };
};

const checkAgain = async (
  first: ScriptRun,
  fixed: ScriptRun,
  script: string,
  tools: StageTools,
  options: { readonly cwd: string; readonly timeoutMs: number | undefined },
): Promise<StepResult> => {
  const again = await runScript(tools, script, options);
  const said = `the checks ${endOf(first.result)}, the fix script ${endOf(fixed.result)}, and the checks after it`;
  const result = resultOf(again, said);
  const outputs = {
    ...result.outputs,
    first_exit_code: outputsOf(first.result).exit_code,
    fix_exit_code: outputsOf(fixed.result).exit_code,
  };
  // The check fails with the first exit code.
  const exitCode = result.outcome === 'succeeded' ? 0 : outputsOf(first.result).exit_code;
  return { ...result, exitCode, outputs, report: tookSoLong(first.result, fixed.result, again.result) };
};

/** Checks a commit in a temporary worktree. */
const checkCommit = async (
  script: string,
  input: StepInput,
  tools: StageTools,
  commit: string,
): Promise<StepResult> => {
  const { repository, effectId } = tools;
  const git = tools.git(repository.root);
  const place = await repository.inside(`${WORKTREES}/check-${effectId}`);
  await keepOutOfStatus(repository);
  await removeIfThere(tools, place);
  await git.worktreeAdd(place, { commit });
  try {
    const { result, mended } = await check(script, input, tools, place);
    if (!mended) return withCommit(result, commit);
    const said = withCommit(result, undefined);
    return { ...said, ...(await keepFix(said, tools, place, commit)) };
  } finally {
    await removeIfThere(tools, place);
  }
};

const removeIfThere = async (tools: StageTools, place: string): Promise<void> => {
  const git = tools.git(tools.repository.root, { anyway: true });
  if ((await git.worktreeList()).some(({ path }) => path === place)) await git.worktreeRemove(place);
};

/**
 * Commits the changes of the fix script to a branch of their own: no approver has agreed to them on the checked
 * branch.
 */
const keepFix = async (
  result: StepResult,
  tools: StageTools,
  place: string,
  checked: string,
): Promise<Partial<StepResult>> => {
  const git = tools.git(place);
  const { task, node } = tools.about;
  await git.stage('all');
  await git.commit(`fix: changes of the fix script of ${node}\n\nTask: ${task}\nChecked: ${checked}\n`);
  const { commit } = await git.head();
  if (commit === undefined || commit === checked) return {};
  const branch = `holdpoint/ci-fix/${task}`;
  // Replaces an earlier fix of this task, which was for an earlier commit.
  await git.run(['update-ref', '--no-deref', '--', `refs/heads/${branch}`, commit]);
  return {
    detail: `${result.detail ?? ''}; what the fix script changed is on the branch ${branch}, and not on the one that is checked`,
    outputs: { ...result.outputs, ci_fix_branch: branch, ci_fix_commit: commit },
  };
};
