import type { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import { isCommitId } from '../../adapters/git/ref-name.ts';
import { endOf, outputsOf, resultOf, runScript, type ScriptRun, tookSoLong } from '../shell/run-script.ts';
import { invalid, type RunStage, type StageModule, type StageTools, succeeded, WORKTREES } from '../stage.ts';
import { noteCommit, withCommit } from './checked-commit.ts';
import { NO_GATE } from './stop-condition.ts';
import { keepOutOfStatus } from '../worktree/prepare.ts';

/** The checks of a gate, and what mends them once when they fail. */
const checkGate: RunStage = async (input, tools) => {
  const script = input.script?.trim() === '' ? undefined : input.script;
  if (script === undefined) return succeeded(NO_GATE);
  const { commit } = input.context;
  if (tools.inWorktree || commit === undefined) return checkHere(script, input, tools);
  if (!isCommitId(commit)) throw invalid(`context.commit: ${JSON.stringify(commit)} is no id of a commit`);
  return checkCommit(script, input, tools, commit);
};

export const cicdGate: StageModule = { uses: 'control.gate.cicd', run: checkGate, startsPrograms: true };

/** Checks the files as they are: they are those of a commit when nothing has been changed since. */
const checkHere = async (script: string, input: StepInput, tools: StageTools): Promise<StepResult> => {
  const checkedAt = await noteCommit(tools);
  const { result, mended } = await check(script, input, tools, tools.root);
  return mended ? withCommit(result, undefined) : checkedAt(result);
};

type Checked = { readonly result: StepResult; readonly mended: boolean };

const check = async (
  script: string,
  { fixScript, autoResolve, timeoutMs }: StepInput,
  tools: StageTools,
  cwd: string,
): Promise<Checked> => {
  const options = { cwd, timeoutMs };
  const first = await runScript(tools, script, options);
  const fix = autoResolve === false || fixScript?.trim() === '' ? undefined : fixScript;
  const red = first.result.exitCode !== 0 && !first.result.cancelled;
  if (!red || fix === undefined) return { result: resultOf(first, 'the checks'), mended: false };
  tools.log('stderr', 'the checks failed: the fix script is run, and then they are run once more');
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
  // What failed first is what the gate failed with.
  const exitCode = result.outcome === 'succeeded' ? 0 : outputsOf(first.result).exit_code;
  return { ...result, exitCode, outputs, report: tookSoLong(first.result, fixed.result, again.result) };
};

/** Checks a commit where nobody works: in a worktree that is made for it, and taken away again. */
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

/** What a fix script has changed is kept on a branch of its own: nobody has agreed to it on the branch that is checked. */
const keepFix = async (
  result: StepResult,
  tools: StageTools,
  place: string,
  checked: string,
): Promise<Partial<StepResult>> => {
  const git = tools.git(place);
  const { task, node } = tools.about;
  await git.stage('all');
  await git.commit(`fix: what the fix script of ${node} changed\n\nTask: ${task}\nChecked: ${checked}\n`);
  const { commit } = await git.head();
  if (commit === undefined || commit === checked) return {};
  const branch = `holdpoint/ci-fix/${task}`;
  // An earlier fix of this task was of an earlier commit.
  await git.run(['update-ref', '--no-deref', '--', `refs/heads/${branch}`, commit]);
  return {
    detail: `${result.detail ?? ''}; what the fix script changed is on the branch ${branch}, and not on the one that is checked`,
    outputs: { ...result.outputs, ci_fix_branch: branch, ci_fix_commit: commit },
  };
};
