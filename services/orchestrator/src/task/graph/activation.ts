import type { NodeId } from '@holdpoint/contracts/values/ids';
import { jobOf } from '@holdpoint/contracts/values/ids';
import { nodeState, outcomeOf, type Task } from '../model/state.ts';
import { workflowIndex } from '../model/workflow-index.ts';

/** The state of a node's incoming edges before it runs. */
export type Activation =
  | { readonly kind: 'run' }
  | { readonly kind: 'pending'; readonly detail: string }
  /** A dependency did not succeed. */
  | { readonly kind: 'blocked'; readonly detail: string }
  /** No route to it was taken. */
  | { readonly kind: 'unreached' };

const RUN: Activation = { kind: 'run' };

/** Jobs of other tasks come before every node of this one. */
const peersOf = (task: Task): Activation => {
  for (const [peer, outcome] of Object.entries(task.peers)) {
    if (outcome === null) return { kind: 'pending', detail: `waiting on job ${peer}` };
    if (outcome === 'unknown') return { kind: 'blocked', detail: `there is no job ${peer}` };
    if (outcome !== 'succeeded') return { kind: 'blocked', detail: `dependency ${peer} ${outcome}` };
  }
  return RUN;
};

/** A stuck job blocks its dependents until a person resolves it. */
const waitingOn = (task: Task, node: NodeId): string => {
  const { status, reason } = nodeState(task, node);
  const why = status === 'escalated' ? `, which is stuck: ${reason ?? 'a person must decide'}` : '';
  return `waiting on job ${jobOf(task.id, node)}${why}`;
};

/**
 * Every edge on success must be taken. Edges on other outcomes are alternatives: one taken edge is enough,
 * and an untaken one does not block. Edges that close a loop do not count.
 */
export const activationOf = (task: Task, node: NodeId): Activation => {
  const incoming = workflowIndex(task.definition).graph.incoming(node);
  if (incoming.length === 0) return peersOf(task);
  const alternatives = new Set<NodeId>();
  for (const { from, on } of incoming) {
    if (on === 'succeeded') continue;
    alternatives.add(from);
    if (outcomeOf(nodeState(task, from)) === on) return RUN;
  }
  let pending: NodeId | undefined;
  let broken: NodeId | undefined;
  let unreached = false;
  let taken = false;
  // Nodes mostly end in definition order, so the last edge is the most likely one to be pending.
  for (let index = incoming.length - 1; index >= 0; index -= 1) {
    const edge = incoming[index];
    if (edge === undefined) continue;
    const state = nodeState(task, edge.from);
    const outcome = outcomeOf(state);
    if (outcome === undefined && state.status !== 'unreached') {
      pending = edge.from;
      if (edge.on === 'succeeded') break;
    } else if (edge.on === 'succeeded') {
      if (outcome === 'succeeded') taken = true;
      // The alternative route from there was not taken either.
      else if (outcome === undefined || alternatives.has(edge.from)) unreached = true;
      else broken = edge.from;
    }
  }
  if (pending !== undefined) return { kind: 'pending', detail: waitingOn(task, pending) };
  if (broken !== undefined) {
    const { status } = nodeState(task, broken);
    return { kind: 'blocked', detail: `dependency ${jobOf(task.id, broken)} ${status}` };
  }
  return taken && !unreached ? RUN : { kind: 'unreached' };
};
