import type { Gate } from '@holdpoint/contracts/workflow/gate';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { forKind } from '@holdpoint/workflows/gate/find-gate';
import { nodeDefinition, type Task } from './state.ts';

/** How a gate is told that is not the effect's own: what the effect itself says of time and audience counts. */
const asDefault = (gate: Gate): Gate => {
  const { audience: _, ...request } = gate.request;
  return { ...gate, request, timeoutMs: {} };
};

/** The gate that holds the effect of a node: its own, else the one that the task was submitted under; none for a node without an effect. */
export const effectGate = (task: Task, node: NodeId): Gate | undefined => {
  const { effect } = nodeDefinition(task, node);
  if (effect === undefined) return undefined;
  return effect.gate ?? (task.gate && forKind(asDefault(task.gate), effect.kind));
};
