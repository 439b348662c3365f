import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { Gate, GateContext } from '@holdpoint/contracts/workflow/gate';
import type { ApprovalOutcome } from '@holdpoint/contracts/approval/status';
import { documentedTask } from '@holdpoint/contracts/task/document';
import type { ApprovalId, NodeId } from '@holdpoint/contracts/values/ids';
import { asSent, type JsonObject } from '@holdpoint/contracts/values/json';
import { renderEffectText } from './node-effects.ts';
import { allNodes } from '../model/nodes.ts';
import { hasEnded, nodeDefinition, nodeState, type Task } from '../model/state.ts';

export type GatedEffect = {
  readonly effect: CanonicalEffect;
  readonly digest: string;
  readonly revision: number;
};

/** A decision about a request, for the conditions and checkpoints that follow it. */
export type GateDecided = {
  readonly id: ApprovalId;
  readonly outcome: ApprovalOutcome;
  readonly by: string;
  readonly comment: string;
};

/** Gates name the phase that a task has while its request is open. */
const taskIn = (task: Task, decided?: GateDecided): JsonObject => ({
  ...documentedTask({
    ...task,
    workflow: task.definition.id,
    phase: 'awaiting_approval',
    ...(decided && {
      latestApproval: { id: decided.id, status: decided.outcome, by: decided.by, note: decided.comment },
    }),
  }),
  requestedBy: task.requestedBy,
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

const loaded = (
  task: Task,
  id: NodeId,
  { revision }: GatedEffect,
  what: GateContext,
  decided: GateDecided | undefined,
): JsonObject => {
  switch (what) {
    case 'task':
      return { task: taskIn(task, decided) };
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

/** What a decision adds to the scope. `lobster` has the names of gates written for Lobster. */
const decisionIn = ({ id, outcome, by, comment }: GateDecided): JsonObject => ({
  decision: { outcome, by, comment },
  lobster: { approval: { id }, decision: verbOf(outcome), actor: by, comment },
});

/** The verb of a decision; an expiry has none. */
const verbOf = (outcome: ApprovalOutcome): string =>
  ({ approved: 'approve', rejected: 'reject', changes_requested: 'request_changes' })[outcome as string] ??
  outcome;

/**
 * The scope of a gate's texts and conditions: its inputs by their names, and only what the gate loads. Throws
 * `ExpressionError`.
 */
export const gateScope = (
  task: Task,
  id: NodeId,
  { loadContext }: Gate,
  about: GatedEffect,
  inputs: JsonObject,
  decided?: GateDecided,
): JsonObject => ({
  ...inputs,
  ...(Object.assign({}, ...loadContext.map((what) => loaded(task, id, about, what, decided))) as JsonObject),
  ...(decided && decisionIn(decided)),
  effect: effectIn(task, id, about),
  inputs,
});
