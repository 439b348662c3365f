import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import {
  type Answer,
  buildOutgoing,
  type Decision,
  decision,
  type OutgoingBuilder,
} from '@holdpoint/runtime/decider';
import { advanceBy } from '../evolve/evolve.ts';
import { mayGo, mayReopen } from '../evolve/phases.ts';
import { allNodes } from './nodes.ts';
import type { TaskTiming } from './timing.ts';
import { hasEnded, type Task, type TaskChange, type TaskState } from './state.ts';

/**
 * Collects the events, messages and timers of one decision. Each step sees the state after the previous
 * steps.
 */
export type DecisionBuilder = OutgoingBuilder & {
  /** The store's clock. Epoch milliseconds. */
  readonly now: number;
  readonly task: () => Task;
  readonly emit: (change: TaskChange) => void;
  readonly timing: TaskTiming;
  /** Queues nodes for a new look after a change that may end their wait. */
  readonly enqueue: (nodes: Iterable<NodeId>) => void;
  /** Removes the next node from the queue. Undefined when it is empty. */
  readonly nextNode: () => NodeId | undefined;
  readonly done: (answer?: Answer) => Decision<TaskEvent>;
};

export const createDecisionBuilder = (
  state: TaskState,
  id: Task['id'],
  now: number,
  timing: TaskTiming,
): DecisionBuilder => {
  let current = state;
  const events: TaskEvent[] = [];
  const outgoing = buildOutgoing(now, timing.resend);
  const queue = new Set<NodeId>();

  const task = (): Task => {
    if (current.phase === 'absent') throw new Error(`task ${id} does not exist`);
    return current;
  };

  return {
    now,
    task,
    emit: (change) => {
      const { event, after } = advanceBy(current, id, change);
      const { phase } = event;
      const { phase: from } = current;
      const legal =
        from === 'absent' || mayGo(from, phase) || (change.type === 'restarted' && mayReopen(from, phase));
      if (!legal) throw new Error(`task ${id} may not go from ${from} to ${phase}`);
      events.push(event);
      current = after;
    },
    timing,
    ...outgoing.builder,
    enqueue: (nodes) => {
      for (const node of nodes) queue.add(node);
    },
    nextNode: () => {
      const [next] = queue;
      if (next !== undefined) queue.delete(next);
      return next;
    },
    done: (answer) => {
      const { phase, version } = task();
      return decision({
        events,
        ...outgoing.made,
        after: current,
        answer: answer ?? { ok: { id, phase, version } },
      });
    },
  };
};

/** Enqueues every open node, after a time in which the task could not advance. */
export const enqueueOpenNodes = (builder: DecisionBuilder): void => {
  const { definition, nodes } = builder.task();
  const states = allNodes(nodes);
  builder.enqueue(
    definition.nodes.flatMap(({ id }, place) => {
      const state = states[place];
      return state !== undefined && !hasEnded(state) ? [id] : [];
    }),
  );
};
