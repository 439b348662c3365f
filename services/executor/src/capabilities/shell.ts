import { errorBody } from '@holdpoint/contracts/errors';
import type { StepInput, StepResult } from '@holdpoint/contracts/step';
import { CleanFailure, OutcomeUnknown } from './capability.ts';
import { endOf, resultOf, runScript, type ScriptRun } from './run-script.ts';
import { argOf, invalid, type RunStage, type StageTools } from './stage.ts';

/** A probe only looks. */
const PROBE_MS = 60_000;

/** Runs a script: as work, where a failure is a result like any other, or as an effect, where it has to be known what happened. */
export const runShell: RunStage = async (input, tools) => {
  const script = argOf(input, 'command', 'script') ?? input.script;
  if (script === undefined || script.trim() === '')
    throw invalid('command: missing, expected the text of a shell script');
  if (tools.isEffect) return runEffect(input, script, tools);
  return resultOf(await runScript(tools, script, { timeoutMs: input.timeoutMs }), 'the command');
};

const runEffect = async (input: StepInput, script: string, tools: StageTools): Promise<StepResult> => {
  const probe = argOf(input, 'probe');
  // It was begun before, so that it may have happened already.
  if (tools.epoch > 1 && probe !== undefined) {
    const found = await runScript(tools, probe, { timeoutMs: PROBE_MS, anyway: true });
    if (found.result.exitCode === 0) return applied(found, 'the probe found that it was applied before: it');
  }
  if (tools.signal.aborted)
    throw new CleanFailure(errorBody('EXECUTOR_CANCELLED', 'cancelled before it began'));
  tools.assertInForce();
  const run = await runScript(tools, script, { timeoutMs: input.timeoutMs });
  const { result } = run;
  if (result.problem !== undefined)
    throw new CleanFailure(
      errorBody(
        result.cancelled ? 'EXECUTOR_CANCELLED' : 'EXECUTOR_TARGET_UNAVAILABLE',
        `the command was not started: ${result.problem}`,
      ),
    );
  if (result.exitCode === 0 && !result.timedOut && !result.cancelled) return resultOf(run, 'the command');
  const said = `the command ${endOf(result)}`;
  if (probe === undefined)
    throw new OutcomeUnknown(`${said}, and there is no probe to find out whether it was applied`);
  return probed(await runScript(tools, probe, { timeoutMs: PROBE_MS, anyway: true }), said);
};

const applied = (run: ScriptRun, what: string): StepResult => ({
  ...resultOf(run, what),
  outcome: 'succeeded',
  exitCode: 0,
});

/** What a probe says of an effect that did not say it itself: 0 applied, 1 not applied; anything else is no answer. */
const probed = (probe: ScriptRun, said: string): StepResult => {
  const { result } = probe;
  if (result.exitCode === 0) return applied(probe, `${said}, but the probe found that it was applied: it`);
  if (result.exitCode === 1)
    throw new CleanFailure(
      errorBody('EXECUTOR_TARGET_REFUSED', `${said}, and the probe found that it was not applied`),
    );
  throw new OutcomeUnknown(`${said}, and the probe gave no answer: it ${endOf(result)}`);
};
