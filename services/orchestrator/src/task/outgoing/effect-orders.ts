import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { ApprovalId, EffectId, NodeId } from '@holdpoint/contracts/values/ids';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { nodeDefinition, nodeState, type Task } from '../model/state.ts';
import { command, gateOf, inDoubtOf } from './outgoing.ts';

/** Sends the executor a person's answer about an effect in doubt. */
export const resolveInDoubt = (task: Task, node: NodeId, resends: number): Outgoing => {
  const { approval, effectId: id, answered } = inDoubtOf(task, node);
  if (answered === undefined)
    throw new Error(`the in-doubt question of node ${node} of ${task.id} has no answer`);
  const pool = poolOf(task, node);
  const subject = subjects.effectCommand('resolve', pool);
  return command('effect', 'resolve', subject, `${approval}.${String(resends)}`, {
    id,
    task: task.id,
    node,
    attempt: nodeState(task, node).attempt,
    statement: answered.statement,
  });
};

/** One pool for all orders of a node, so that a cancellation reaches the executor that has the order. */
export const poolOf = (task: Task, node: NodeId): string => {
  const { pool, effect } = nodeDefinition(task, node);
  return pool ?? effect?.pool ?? DEFAULT_POOL;
};

type Run = {
  readonly id: EffectId;
  readonly effect: CanonicalEffect;
  readonly digest: string;
  readonly grant?: string;
  readonly approval?: ApprovalId;
};

const runCommand = (task: Task, node: NodeId, { id, ...order }: Run, resends: number): Outgoing => {
  const { attempt, revision } = nodeState(task, node);
  const pool = poolOf(task, node);
  // An attempt is ordered again under a new grant when the first expired; the revision tells the orders
  // apart.
  const key = `${id}.${String(revision)}.${String(attempt)}.${String(resends)}`;
  return command('effect', 'run', subjects.effectCommand('run', pool), key, {
    id,
    attempt,
    requester: task.requestedBy,
    ...order,
  });
};

/** Orders the approved effect. */
export const orderEffect = (task: Task, node: NodeId, resends: number): Outgoing => {
  const { effectId, effect, digest, grant, approval } = gateOf(task, node);
  if (grant === undefined) throw new Error(`node ${node} of ${task.id} has no grant`);
  return runCommand(task, node, { id: effectId, effect, digest, grant: grant.token, approval }, resends);
};

/** Orders a step without a grant. */
export const orderStep = (task: Task, node: NodeId, id: EffectId, resends: number): Outgoing => {
  const order = nodeState(task, node).orders?.[id];
  if (order === undefined) throw new Error(`node ${node} of ${task.id} has no step ${id}`);
  return runCommand(task, node, { id, effect: order.effect, digest: order.digest }, resends);
};
