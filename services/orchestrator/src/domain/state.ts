import type { CanonicalEffect } from '@holdpoint/contracts/effect';
import type { ErrorBody } from '@holdpoint/contracts/errors';
import type { ApprovalId, CommandId, EffectId, NodeId, TaskId } from '@holdpoint/contracts/ids';
import type { JsonObject } from '@holdpoint/contracts/json';
import type { TaskPhase } from '@holdpoint/contracts/task';
import type { NodeDefinition, WorkflowDefinition } from '@holdpoint/contracts/workflow';

/** A request for approval of a node's effect: what was asked, and what came of it. */
export type Gate = {
  readonly approval: ApprovalId;
  readonly effectId: EffectId;
  readonly effect: CanonicalEffect;
  readonly digest: string;
  readonly grant?: { readonly token: string; readonly validUntil: number };
};

export type NodeStatus =
  | 'idle'
  | 'awaiting_approval'
  /** Approved while the task was paused: to be ordered once it goes on. */
  | 'approved'
  /** The effect is ordered. */
  | 'running'
  /** An attempt failed, and recovery has been asked. */
  | 'recovering'
  /** A verdict granted another attempt, which waits for its delay. */
  | 'retrying'
  /** A person has to decide. */
  | 'escalated'
  | 'succeeded'
  | 'skipped'
  | 'blocked';

/** What was asked of others and is not wanted any more. Whether that is confirmed is left to the timer that asks again. */
export type Withdrawal = { readonly of: 'approval' | 'effect'; readonly reason: string };

export type NodeState = {
  readonly status: NodeStatus;
  readonly attempt: number;
  /** Counts the requests for approval; an effect asked for anew needs a decision of its own. */
  readonly revision: number;
  readonly gate?: Gate;
  readonly outputs?: JsonObject;
  readonly failure?: { readonly outcome: 'failed' | 'in_doubt'; readonly error: ErrorBody };
  readonly reason?: string;
  /** It was ordered at least once, under whatever grant: from then on it may have happened. */
  readonly ordered?: true;
  readonly withdrawn?: Withdrawal;
};

export type Task = {
  readonly id: TaskId;
  readonly version: number;
  readonly phase: TaskPhase;
  readonly goal: string;
  readonly acceptanceCriteria: readonly string[];
  readonly inputs: JsonObject;
  readonly requestedBy: string;
  readonly contentDigest: string;
  readonly definition: WorkflowDefinition;
  readonly pausedByHand: boolean;
  /** The latest commands by hand that changed something: the same one, come again, changes nothing more. */
  readonly commands?: readonly CommandId[];
  readonly nodes: Readonly<Record<NodeId, NodeState>>;
  readonly error?: ErrorBody;
};

export type TaskState = { readonly phase: 'absent' } | Task;

export const absent: TaskState = { phase: 'absent' };

export const nodeState = (task: Task, node: NodeId): NodeState => {
  const state = task.nodes[node];
  if (state === undefined) throw new Error(`task ${task.id} has no node ${node}`);
  return state;
};

export const nodeDefinition = (task: Task, node: NodeId): NodeDefinition => {
  const definition = task.definition.nodes.find(({ id }) => id === node);
  if (definition === undefined) throw new Error(`workflow ${task.definition.id} has no node ${node}`);
  return definition;
};

/** A node after which its followers may start. */
export const isDone = ({ status }: NodeState): boolean => status === 'succeeded' || status === 'skipped';
