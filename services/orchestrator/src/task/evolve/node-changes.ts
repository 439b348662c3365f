import type { NodeId } from '@holdpoint/contracts/values/ids';
import { nodeAt, withNodeAt } from '../model/nodes.ts';
import {
  type GateRequest,
  type NodeState,
  nodeState,
  type NodeStatus,
  type Task,
  type TaskChange,
} from '../model/state.ts';
import { workflowIndex } from '../model/workflow-index.ts';

export const NEW_NODE: NodeState = { status: 'idle', attempt: 1, revision: 0 };

export const countsOf = (states: readonly NodeState[]): Task['counts'] => {
  const counts: Partial<Record<NodeStatus, number>> = {};
  for (const { status } of states) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

const positionOf = (task: Task, node: NodeId): number => {
  const place = workflowIndex(task.definition).graph.position.get(node);
  if (place === undefined) throw new Error(`task ${task.id} has no node ${node}`);
  return place;
};

export const patchNode = (task: Task, node: NodeId, change: Partial<NodeState>): Task => {
  const place = positionOf(task, node);
  const before = nodeAt(task.nodes, place) ?? NEW_NODE;
  const after = { ...before, ...change };
  const nodes = withNodeAt(task.nodes, place, after);
  if (after.status === before.status) return { ...task, nodes, ...deferredAfter(task, before, after) };
  const counts = {
    ...task.counts,
    [before.status]: (task.counts[before.status] ?? 1) - 1,
    [after.status]: (task.counts[after.status] ?? 0) + 1,
  };
  return { ...task, nodes, counts, ...deferredAfter(task, before, after) };
};

/** The number of deferred nodes after a change. */
const deferredAfter = (task: Task, before: NodeState, after: NodeState): Pick<Task, 'deferredNodes'> => {
  const more = Number(after.deferral !== undefined) - Number(before.deferral !== undefined);
  return more === 0 ? {} : { deferredNodes: (task.deferredNodes ?? 0) + more };
};

/** The state of a new attempt. Counters, and fields that a person set, survive. */
export const nextAttempt = (state: NodeState, change: Partial<NodeState>): NodeState => {
  const { attempt, revision, loops, paused, withdrawn, ordered, context, hint, questions } = state;
  const { earlier, appliedBefore, session, undone, succeededBefore } = state;
  return {
    status: 'idle',
    attempt,
    revision,
    ...(loops !== undefined && { loops }),
    ...(paused && { paused }),
    ...(withdrawn && { withdrawn }),
    ...(ordered && { ordered }),
    ...(context && { context }),
    ...(hint !== undefined && { hint }),
    ...(questions !== undefined && { questions }),
    ...(earlier && { earlier }),
    ...(appliedBefore && { appliedBefore }),
    ...(session !== undefined && { session }),
    ...(undone !== undefined && { undone }),
    ...(succeededBefore && { succeededBefore }),
    ...change,
  };
};

export const replaceNode = (task: Task, node: NodeId, state: NodeState): Task => {
  const place = positionOf(task, node);
  const before = nodeAt(task.nodes, place) ?? NEW_NODE;
  const counts = {
    ...task.counts,
    [before.status]: (task.counts[before.status] ?? 1) - 1,
  };
  counts[state.status] = (counts[state.status] ?? 0) + 1;
  const nodes = withNodeAt(task.nodes, place, state);
  return { ...task, nodes, counts, ...deferredAfter(task, before, state) };
};

/** A state is a JSON document, so undefined fields are left out. */
export const withoutUndefined = (state: Readonly<Record<string, unknown>>): NodeState => {
  const kept: Record<string, unknown> = {};
  for (const field of Object.keys(state)) if (state[field] !== undefined) kept[field] = state[field];
  return kept as NodeState;
};

/** Fields to set; `undefined` removes one. */
export type NodeChange = { readonly [Field in keyof NodeState]?: NodeState[Field] | undefined };

export const changeNode = (task: Task, node: NodeId, change: NodeChange): Task =>
  replaceNode(task, node, withoutUndefined({ ...nodeState(task, node), ...change }));

export const withGrant = (
  task: Task,
  node: NodeId,
  token: string,
  validUntil: number,
): { readonly gate?: GateRequest } => {
  const { gate } = nodeState(task, node);
  return gate === undefined ? {} : { gate: { ...gate, grant: { token, validUntil } } };
};

type Closed = Extract<TaskChange, { type: 'approval_closed' }>;
const COMMENT_MAX = 2_000;

/** The request was closed without a grant. */
export const withDecision = (
  task: Task,
  { node, outcome, by, comment }: Closed,
): { readonly gate?: GateRequest } => {
  const { gate } = nodeState(task, node);
  const text = comment?.slice(0, COMMENT_MAX).toWellFormed();
  const closed = { outcome, by, ...(text !== undefined && { comment: text }) };
  return gate === undefined ? {} : { gate: { ...gate, closed } };
};

/** A decision does not answer a later request. */
export const withoutDecision = ({ closed: _, ...gate }: GateRequest): GateRequest => gate;
