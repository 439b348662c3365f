import type { Gate } from '@holdpoint/contracts/workflow/gate';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { forKind } from '@holdpoint/workflows/gate/find-gate';
import { nodeDefinition, type Task } from './state.ts';

/** A default gate takes its audience and timeout from the effect. */
const asDefault = (gate: Gate): Gate => {
  const { audience: _, ...request } = gate.request;
  return { ...gate, request, timeoutMs: {} };
};

/**
 * The gate of a node's effect: its own, else the default gate of the task. Undefined for a node without an
 * effect.
 */
export const effectGate = (task: Task, node: NodeId): Gate | undefined => {
  const { effect } = nodeDefinition(task, node);
  if (effect === undefined) return undefined;
  return effect.gate ?? (task.gate && forKind(asDefault(task.gate), effect.kind));
};
