import { CAPABILITIES, isCustom } from '@holdpoint/contracts/effect/capabilities';
import type { StepResult } from '@holdpoint/contracts/task/step';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { parseBool } from '@holdpoint/workflows/reading/coerce';

/** Whether an executor has to carry the node out, or the orchestrator ends it by itself. */
export const isControlNode = ({ uses, script, until, forEach }: NodeDefinition): boolean => {
  if (forEach !== undefined || until !== undefined) return false;
  if (CAPABILITIES[uses] === undefined && !isCustom(uses)) return true;
  return GATES_WITH_SCRIPT.has(uses) && (script === undefined || script.trim() === '');
};

/**
 * A gate that nobody has configured lets everything through, and says so. One that is there for an approval does not: without
 * anybody to ask it is in the way, unless its template says that none is required.
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
    detail: 'it needs an approval, and no gate of the kind approval asks for one',
  };
};

export const isApprovalGate = ({ uses }: NodeDefinition): boolean => uses === 'control.gate.approval';

const GATES_WITH_SCRIPT: ReadonlySet<string> = new Set(['control.gate.stop_condition', 'control.gate.cicd']);
