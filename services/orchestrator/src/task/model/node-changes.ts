import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { nodeAt, withNodeAt } from './nodes.ts';
import { type Gate, type NodeState, nodeState, type NodeStatus, type Task } from './state.ts';
import { wiringOf } from './workflow-index.ts';

export const NEW_NODE: NodeState = { status: 'idle', attempt: 1, revision: 0 };

export const countsOf = (states: readonly NodeState[]): Task['counts'] => {
  const counts: Partial<Record<NodeStatus, number>> = {};
  for (const { status } of states) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

const placeOf = (task: Task, node: NodeId): number => {
  const place = wiringOf(task.definition).graph.position.get(node);
  if (place === undefined) throw new Error(`task ${task.id} has no node ${node}`);
  return place;
};

export const withNode = (task: Task, node: NodeId, change: Partial<NodeState>): Task => {
  const place = placeOf(task, node);
  const before = nodeAt(task.nodes, place) ?? NEW_NODE;
  const after = { ...before, ...change };
  const nodes = withNodeAt(task.nodes, place, after);
  if (after.status === before.status) return { ...task, nodes, ...heldAfter(task, before, after) };
  const counts = {
    ...task.counts,
    [before.status]: (task.counts[before.status] ?? 1) - 1,
    [after.status]: (task.counts[after.status] ?? 0) + 1,
  };
  return { ...task, nodes, counts, ...heldAfter(task, before, after) };
};

/** How many nodes are held up, once one has changed. */
const heldAfter = (task: Task, before: NodeState, after: NodeState): Pick<Task, 'heldNodes'> => {
  const more = Number(after.held !== undefined) - Number(before.held !== undefined);
  return more === 0 ? {} : { heldNodes: (task.heldNodes ?? 0) + more };
};

/** What an attempt leaves behind when the next one begins: how often, and what a person has said, is kept. */
export const anew = (state: NodeState, change: Partial<NodeState>): NodeState => {
  const { attempt, revision, loops, paused, withdrawn, ordered, context, hint, questions } = state;
  const { earlier, known, session, undone } = state;
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
    ...(known && { known }),
    ...(session !== undefined && { session }),
    ...(undone !== undefined && { undone }),
    ...change,
  };
};

export const replaced = (task: Task, node: NodeId, state: NodeState): Task => {
  const place = placeOf(task, node);
  const before = nodeAt(task.nodes, place) ?? NEW_NODE;
  const counts = {
    ...task.counts,
    [before.status]: (task.counts[before.status] ?? 1) - 1,
  };
  counts[state.status] = (counts[state.status] ?? 0) + 1;
  const nodes = withNodeAt(task.nodes, place, state);
  return { ...task, nodes, counts, ...heldAfter(task, before, state) };
};

/** Undefined fields are left out: a state is a JSON document, and has to be the same when it comes back from the store. */
export const cleaned = (state: object): NodeState =>
  Object.fromEntries(Object.entries(state).filter(([, value]) => value !== undefined)) as NodeState;

export const ofNode = (task: Task, node: NodeId, change: object): Task =>
  replaced(task, node, cleaned({ ...nodeState(task, node), ...change }));

export const granted = (
  task: Task,
  node: NodeId,
  token: string,
  validUntil: number,
): { readonly gate?: Gate } => {
  const { gate } = nodeState(task, node);
  return gate === undefined ? {} : { gate: { ...gate, grant: { token, validUntil } } };
};

type Closed = Extract<TaskEvent, { type: 'approval_closed' }>;
const COMMENT_MAX = 2_000;

/** It was decided, and no grant came of it. */
export const decided = (task: Task, { node, outcome, by, comment }: Closed): { readonly gate?: Gate } => {
  const { gate } = nodeState(task, node);
  const text = comment?.slice(0, COMMENT_MAX).toWellFormed();
  const closed = { outcome, by, ...(text !== undefined && { comment: text }) };
  return gate === undefined ? {} : { gate: { ...gate, closed } };
};

/** What was said of a request is no answer to a later one. */
export const undecided = ({ closed: _, ...gate }: Gate): Gate => gate;
