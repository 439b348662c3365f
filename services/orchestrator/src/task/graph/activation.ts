import type { NodeId } from '@holdpoint/contracts/values/ids';
import { jobOf } from '@holdpoint/contracts/values/ids';
import { nodeState, outcomeOf, type Task } from '../model/state.ts';
import { workflowIndex } from '../model/workflow-index.ts';

/** What the graph says of a node that has not run. */
export type Activation =
  | { readonly kind: 'run' }
  | { readonly kind: 'pending'; readonly detail: string }
  /** Something that it depends on did not succeed. */
  | { readonly kind: 'blocked'; readonly detail: string }
  /** The routes that lead to it were not taken. */
  | { readonly kind: 'unreached' };

const RUN: Activation = { kind: 'run' };

/** Jobs of other tasks: they come before everything in this one. */
const peersOf = (task: Task): Activation => {
  for (const [peer, outcome] of Object.entries(task.peers)) {
    if (outcome === null) return { kind: 'pending', detail: `waiting on job ${peer}` };
    if (outcome === 'unknown') return { kind: 'blocked', detail: `there is no job ${peer}` };
    if (outcome !== 'succeeded') return { kind: 'blocked', detail: `dependency ${peer} ${outcome}` };
  }
  return RUN;
};

/** A job that is stuck holds up what depends on it, until a person says what is to become of it. */
const waitingOn = (task: Task, node: NodeId): string => {
  const { status, reason } = nodeState(task, node);
  const why = status === 'escalated' ? `, which is stuck: ${reason ?? 'a person has to decide'}` : '';
  return `waiting on job ${jobOf(task.id, node)}${why}`;
};

/**
 * Every edge on success has to be taken, from whichever node it comes. An edge on another outcome is an alternative: one that
 * is taken is enough, and one that is not is no hindrance. Edges that close a loop do not count.
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
  // From behind: they mostly end in the order in which they stand, so that the one that is missing is found at once.
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
      // It might have come by another way from there, and has not: no way from there was taken.
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
