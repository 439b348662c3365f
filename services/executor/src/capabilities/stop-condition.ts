import { resultOf, runScript } from './run-script.ts';
import { type RunStage, succeeded } from './stage.ts';

export const NO_GATE = 'gate: none configured';

/** A gate that is open when its script ends with exit code 0. */
export const stopCondition: RunStage = async ({ script, timeoutMs }, tools) => {
  if (script === undefined || script.trim() === '') return succeeded(NO_GATE);
  return resultOf(await runScript(tools, script, { timeoutMs }), 'the stop condition');
};
