import { effectClassOf } from '@holdpoint/contracts/effect/capabilities';
import type { Step } from '@holdpoint/contracts/workflow/workflow';
import { argumentRules, missingArgs, reportMissing } from './argument-rules.ts';
import type { Fields } from '../parameters/fields.ts';
import { AGENT, labelFault, LABELS, PROMPT, SHELL_PROMPT } from './labels.ts';
import { argsOf } from './node-args.ts';
import type { RawStep } from '../../template/schema.ts';

const mayBeStep = (uses: string): boolean =>
  LABELS.has(uses) &&
  uses.startsWith('cap.') &&
  effectClassOf(uses, 'work') !== undefined &&
  ![AGENT, PROMPT, SHELL_PROMPT].includes(uses);

/** A step has no artifacts, agent or gate, so it must be plain work. */
const reportUses = (uses: string, field: string, fields: Fields): void => {
  const fault = labelFault(uses);
  if (fault !== undefined)
    fields.error(fault.code, `${field}.uses`, fault.found, fault.expected, [uses, LABELS]);
  else if (!mayBeStep(uses)) {
    const expected =
      'plain work, such as cap.env.shell.command.run; effects and gates need nodes of their own';
    fields.error('WORKFLOW_STEP_USES', `${field}.uses`, JSON.stringify(uses), expected);
  }
};

/** The steps before and after a node. */
export const stepsOf = (steps: readonly RawStep[], field: string, fields: Fields): Step[] =>
  steps.map(({ uses, args: written = {} }, index) => {
    const at = `${field}[${String(index)}]`;
    reportUses(uses, at, fields);
    const args = argsOf(uses, written, `${at}.args`, fields);
    const missing = missingArgs(uses, args);
    if (missing !== undefined) reportMissing(missing, args, `${at}.args`, fields);
    argumentRules(uses, args, `${at}.args`, fields);
    return { uses, args };
  });
