import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { Gate, GateContext } from '@holdpoint/contracts/workflow/gate';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { asSent, type JsonObject } from '@holdpoint/contracts/values/json';
import { renderEffectText } from './node-effects.ts';
import { allNodes } from '../model/nodes.ts';
import { hasEnded, nodeDefinition, nodeState, type Task } from '../model/state.ts';

export type GatedEffect = {
  readonly effect: CanonicalEffect;
  readonly digest: string;
  readonly revision: number;
};

const taskIn = ({ id, goal, definition, requestedBy, acceptanceCriteria }: Task): JsonObject => ({
  id,
  goal,
  workflow: definition.id,
  requestedBy,
  requested_by: requestedBy,
  acceptance_criteria: acceptanceCriteria,
});

const nodeIn = (task: Task, id: NodeId, revision: number): JsonObject => {
  const { name, uses } = nodeDefinition(task, id);
  return { id, name: name ?? id, uses, attempt: nodeState(task, id).attempt, revision };
};

const effectIn = (task: Task, id: NodeId, { effect, digest }: GatedEffect): JsonObject => {
  const { kind, effectClass, uses, target, args, idempotencyKey } = effect;
  const node = nodeDefinition(task, id);
  const { probe, compensate, rollbackHint } = node.effect ?? {};
  return {
    kind,
    class: effectClass,
    uses,
    target,
    args,
    digest,
    idempotency_key: idempotencyKey,
    probe: probe === undefined ? null : renderEffectText(task, node, probe),
    compensate: compensate === undefined ? null : renderEffectText(task, node, compensate),
    rollback_hint: rollbackHint ?? null,
  };
};

/** The scope of a gate's inputs, beside the scope of the node's texts. Throws `ExpressionError`. */
export const gateInputScope = (task: Task, id: NodeId, about: GatedEffect): JsonObject => ({
  task: taskIn(task),
  node: nodeIn(task, id, about.revision),
  effect: effectIn(task, id, about),
});

/** The outputs of ended nodes, by node id. */
const outputsIn = ({ definition, nodes }: Task): JsonObject =>
  Object.fromEntries(
    allNodes(nodes).flatMap((state, place) => {
      const id = definition.nodes[place]?.id;
      return id !== undefined && hasEnded(state) ? [[id, state.outputs ?? {}] as const] : [];
    }),
  );

const loaded = (task: Task, id: NodeId, { revision }: GatedEffect, what: GateContext): JsonObject => {
  switch (what) {
    case 'task':
      return { task: taskIn(task) };
    case 'node':
      return { node: nodeIn(task, id, revision) };
    case 'outputs':
      return { outputs: outputsIn(task) };
    case 'attempts':
      return { attempts: (nodeState(task, id).earlier ?? []).map(asSent) };
    case 'checkpoints':
      return { checkpoints: (task.checkpoints ?? []).map(asSent) };
  }
};

/** The scope of a gate's texts and conditions: only what the gate loads. Throws `ExpressionError`. */
export const gateScope = (
  task: Task,
  id: NodeId,
  { loadContext }: Gate,
  about: GatedEffect,
  inputs: JsonObject,
): JsonObject => ({
  ...Object.fromEntries(loadContext.flatMap((what) => Object.entries(loaded(task, id, about, what)))),
  effect: effectIn(task, id, about),
  inputs,
});
