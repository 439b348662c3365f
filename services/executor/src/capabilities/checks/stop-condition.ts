import { recordCommit } from './checked-commit.ts';
import { resultOf, runScript } from '../shell/run-script.ts';
import type { RunStage, StageModule } from '../stage/stage.ts';
import { succeeded } from '../stage/results.ts';

export const NO_GATE = 'gate: none configured';

/** The check passes when its script exits with 0. */
const check: RunStage = async ({ script, timeoutMs }, tools) => {
  if (script === undefined || script.trim() === '') return succeeded(NO_GATE);
  const checkedAt = await recordCommit(tools);
  return checkedAt(resultOf(await runScript(tools, script, { timeoutMs }), 'the stop condition'));
};

export const stopCondition: StageModule = {
  uses: 'control.gate.stop_condition',
  run: check,
  startsProcess: true,
};
