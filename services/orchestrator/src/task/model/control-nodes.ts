import { CAPABILITIES, isCustom } from '@holdpoint/contracts/effect/capabilities';
import { isRemote } from '@holdpoint/contracts/effect/remote-name';
import type { StepResult } from '@holdpoint/contracts/task/step';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { parseBool } from '@holdpoint/workflows/reading/coerce';

/** Whether the orchestrator ends the node without an executor. */
export const isControlNode = ({ uses, script, until, forEach }: NodeDefinition): boolean => {
  if (forEach !== undefined || until !== undefined) return false;
  if (CAPABILITIES[uses] === undefined && !isCustom(uses) && !isRemote(uses)) return true;
  return GATES_WITH_SCRIPT.has(uses) && (script === undefined || script.trim() === '');
};

/**
 * An unconfigured gate passes and says so. An approval gate without an audience blocks, unless its template
 * sets `required = false`.
 */
export const controlResult = (node: NodeDefinition): StepResult => {
  const { uses, args, approval } = node;
  if (!isApprovalGate(node))
    return uses.startsWith('control.gate.')
      ? { outcome: 'succeeded', detail: 'gate: none configured' }
      : { outcome: 'succeeded', outputs: args };
  const { required } = args;
  const isFree = typeof required === 'string' ? parseBool(required) === false : required === false;
  if (approval !== undefined || isFree) return { outcome: 'succeeded', outputs: args };
  return {
    outcome: 'blocked',
    detail: 'it requires an approval, but has no audience',
  };
};

export const isApprovalGate = ({ uses }: NodeDefinition): boolean => uses === 'control.gate.approval';

const GATES_WITH_SCRIPT: ReadonlySet<string> = new Set(['control.gate.stop_condition', 'control.gate.cicd']);
