import { errorBody } from '@holdpoint/contracts/values/errors';
import type { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import {
  CleanFailure,
  type AppliedEffect,
  OutcomeUnknown,
  type ProbeResult,
} from '../../ports/capability.ts';
import { argOf, invalid } from '../stage/arguments.ts';
import { foundApplied } from '../stage/results.ts';
import type { RunStage, StageModule } from '../stage/stage.ts';
import type { StageTools } from '../stage/tools.ts';
import { endOf, resultOf, runScript, type ScriptRun } from './run-script.ts';

/** A probe only reads. */
const PROBE_MS = 60_000;

const applied = (run: ScriptRun, what: string): StepResult => ({
  ...resultOf(run, what),
  outcome: 'succeeded',
  exitCode: 0,
});

type ProbeRun = { readonly run: ScriptRun; readonly found: ProbeResult['found']; readonly reason: string };

/** Exit code 0 of a probe means applied, 1 not applied, any other unknown. */
const runProbe = async (script: string, tools: StageTools): Promise<ProbeRun> => {
  const run = await runScript(tools, script, { timeoutMs: PROBE_MS, anyway: true });
  const { result } = run;
  const answer = result.problem === undefined && !result.timedOut ? result.exitCode : undefined;
  if (answer === 0) return { run, found: 'applied', reason: 'the probe reports: applied' };
  if (answer === 1) return { run, found: 'not_applied', reason: 'the probe reports: not applied' };
  return { run, found: 'unknown', reason: `the probe gave no answer: it ${endOf(result)}` };
};

const probe = async (input: StepInput, tools: StageTools): Promise<ProbeResult> => {
  const script = argOf(input, 'probe');
  if (script === undefined) return { found: 'unknown', reason: 'there is no probe' };
  const { run, found, reason } = await runProbe(script, tools);
  return found === 'applied' ? foundApplied(reason, applied(run, `${reason}: it`)) : { found, reason };
};

/**
 * Runs a script as an effect. Throws `CleanFailure` when certainly nothing happened, and `OutcomeUnknown` when the
 * outcome is unknown.
 */
const runEffect = async (
  script: string,
  { timeoutMs }: Pick<StepInput, 'timeoutMs'>,
  tools: StageTools,
): Promise<{ readonly run: ScriptRun; readonly ended: string | undefined }> => {
  if (tools.signal.aborted)
    throw new CleanFailure(errorBody('EXECUTOR_CANCELLED', 'cancelled before it began'));
  tools.assertInForce();
  const run = await runScript(tools, script, { timeoutMs });
  const { result } = run;
  if (result.problem !== undefined)
    throw new CleanFailure(
      errorBody(
        result.cancelled ? 'EXECUTOR_CANCELLED' : 'EXECUTOR_TARGET_UNAVAILABLE',
        `the command was not started: ${result.problem}`,
      ),
    );
  const well = result.exitCode === 0 && !result.timedOut && !result.cancelled;
  return { run, ended: well ? undefined : `the command ${endOf(result)}` };
};

/** The start has ended badly: the probe can run at once. */
const probeNow = async (input: StepInput, tools: StageTools, ended: string): Promise<StepResult> => {
  const script = argOf(input, 'probe');
  if (script === undefined) throw new OutcomeUnknown(`${ended}, and there is no probe`);
  const { run: asked, found, reason } = await runProbe(script, tools);
  switch (found) {
    case 'applied':
      return applied(asked, `${ended}, but ${reason}: it`);
    case 'not_applied':
      throw new CleanFailure(errorBody('EXECUTOR_TARGET_REFUSED', `${ended}, and ${reason}`));
    case 'unknown':
      throw new OutcomeUnknown(`${ended}, and ${reason}`);
  }
};

/** Runs a script. As work, a failure is an ordinary result; as an effect, the outcome must be certain. */
const run: RunStage = async (input, tools) => {
  const script = argOf(input, 'command', 'script') ?? input.script;
  if (script === undefined || script.trim() === '')
    throw invalid('command: missing, expected the text of a shell script');
  if (!tools.isEffect)
    return resultOf(await runScript(tools, script, { timeoutMs: input.timeoutMs }), 'the command');
  const { run: made, ended } = await runEffect(script, input, tools);
  return ended === undefined ? resultOf(made, 'the command') : probeNow(input, tools, ended);
};

const compensate = async ({ input }: AppliedEffect<StepInput>, tools: StageTools): Promise<StepResult> => {
  const script = argOf(input, 'compensate');
  if (script === undefined)
    throw invalid('compensate: missing, the effect was ordered without an undo script');
  const { run: made, ended } = await runEffect(script, input, tools);
  if (ended !== undefined) throw new OutcomeUnknown(`${ended}, and it is unknown how much was undone`);
  return resultOf(made, 'the undo command');
};

export const shellCommand: StageModule = {
  uses: 'cap.env.shell.command.run',
  run,
  probe,
  compensate,
  startsProcess: true,
};

export const shellCicd: StageModule = { ...shellCommand, uses: 'cap.env.shell.cicd.run' };
